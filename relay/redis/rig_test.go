package redis

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/relay"
	"weir/relay/redis/redistest"
)

// limit ends a test that hangs.
const limit = 30 * time.Second

// instance is one process among several, as its relay sees it.
type instance struct {
	*Spread
	log  *lockedLines
	seen *counts
}

// quickly are options under which a test need not wait long for a lease.
func quickly(s *redistest.Server) Options {
	return Options{URL: s.URL(), Lease: 1200 * time.Millisecond, Check: 100 * time.Millisecond, Outage: limit}
}

func newInstance(t testing.TB, o Options, m relay.MemoryOptions) *instance {
	t.Helper()
	i := &instance{log: &lockedLines{}, seen: &counts{}}
	o.Logger, o.Observer = slog.New(slog.NewTextHandler(i.log, nil)), i.seen
	far, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	i.Spread = NewSpread(relay.NewMemory(m), far)
	t.Cleanup(func() { _ = i.Close() })
	return i
}

// die ends an instance as SIGKILL does: nothing is said to anybody.
func (i *instance) die() {
	i.far.asleep.Store(true) // Close gives nothing up
	i.far.end(errClosed)
}

// lockedLines is where a logger writes.
type lockedLines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

type counts struct {
	nobody
	dropped, lost, entries, exchanges, payload atomic.Int64
}

func (c *counts) RelayDropped(n int64, _ string) { c.dropped.Add(n) }

func (c *counts) RelayLost(n int64) { c.lost.Add(n) }

func (c *counts) RelayAppended(_, entries, bytes int, _ time.Duration) {
	c.entries.Add(int64(entries))
	c.payload.Add(int64(bytes))
	c.exchanges.Add(1)
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func frame(n int64) []byte { return fmt.Appendf(nil, "data: {\"n\":%d}\n\n", n) }

func begin(t testing.TB, l relay.Log, stream string) relay.Position {
	t.Helper()
	p, err := l.Open(within(t), stream, []byte("head of "+stream))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t testing.TB, l relay.Log, stream string, from, to int64, end bool) {
	t.Helper()
	for n := from; n <= to; n++ {
		if _, err := l.Append(context.Background(), stream, relay.Entry{Frame: frame(n), Terminal: end && n == to}); err != nil {
			t.Fatalf("Append %d: %v", n, err)
		}
	}
}

// reading is one reader's result.
type reading struct {
	got []relay.Entry
	err error
}

// follow reads in the background.
func follow(t testing.TB, l relay.Log, stream string, p relay.Position) <-chan reading {
	ctx, done := within(t), make(chan reading, 1)
	go func() {
		var r reading
		for e, err := range l.After(ctx, stream, p) {
			if r.err = err; err == nil {
				r.got = append(r.got, e)
			}
		}
		done <- r
	}()
	return done
}

// exact fails unless the reading is the entries from … to and then the end.
func (r reading) exact(t testing.TB, from, to int64) {
	t.Helper()
	r.prefix(t, from)
	if r.err != nil || int64(len(r.got)) != to-from+1 || !r.got[len(r.got)-1].Terminal {
		t.Fatalf("%d entries, then %v; want %d to %d and the end", len(r.got), r.err, from, to)
	}
}

// prefix fails unless what was read follows from without a hole.
func (r reading) prefix(t testing.TB, from int64) {
	t.Helper()
	for i, e := range r.got {
		if n := from + int64(i); e.Offset != n || string(e.Frame) != string(frame(n)) {
			t.Fatalf("entry %d is %d %q", n, e.Offset, e.Frame)
		}
	}
}

// until polls for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to pass: %s", what)
		}
	}
}

func copiedTo(t testing.TB, i *instance, stream string, n int64) {
	t.Helper()
	until(t, fmt.Sprintf("%s has %d entries in Redis", stream, n), func() bool {
		s, err := i.far.Stat(within(t), stream)
		return err == nil && s.Last.Offset >= n
	})
}

var _ io.Writer = (*lockedLines)(nil)

// owned reports whether a reader has found the stream.
func (f *feed) owned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owner != ""
}
