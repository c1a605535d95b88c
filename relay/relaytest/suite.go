// Package relaytest is the one behaviour suite of logs of frames: what package
// relay promises, asked of an implementation. A log that passes gives a broken
// client what every other gives.
//
// It refuses to know where the frames are kept: expiry, memory and the faults of
// a server are tested beside each implementation.
package relaytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/relay"
)

// Bounds are what the suite asks an implementation to keep to.
type Bounds struct {
	Bytes   int64 // of one stream, relay.EntryCost per entry included; 0 = plenty
	Events  int   // of one stream; 0 = plenty
	Streams int   // of the log; 0 = plenty
	Readers int   // of one stream at a time; 0 = plenty
}

// Open makes an empty log within bounds and has it closed when the test ends.
type Open func(t testing.TB, b Bounds) relay.Log

// Run asks everything that package relay promises.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"entries come back as they were appended", testSequence},
		{"any position is a place to begin", testPositions},
		{"a reader waits for what is to come", testFollow},
		{"several readers, each at its own pace", testReaders},
		{"a stopped reader does not stop the writer", testStopped},
		{"what is not there is a gap and nothing else", testGaps},
		{"eviction by count is told", testEvictedByCount},
		{"eviction by bytes is told", testEvictedByBytes},
		{"a reader that is overtaken gets a gap", testOvertaken},
		{"an entry over all bounds is a gap", testTooLarge},
		{"a stream ends once", testEnd},
		{"one writer at a time", testFence},
		{"streams do not mix", testStreams},
		{"as many streams as allowed", testFull},
		{"as many readers as allowed", testBusy},
		{"what is dropped is gone", testDrop},
		{"what is unknown is gone", testUnknown},
		{"ids that cannot stand in an event id are refused", testNames},
		{"a reader ends with its context", testContext},
		{"any interleaving gives the exact sequence or a gap", testInterleavings},
		{"cut at any byte, resumed by the last id", testCuts},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open) })
	}
}

// limit ends a test that hangs.
const limit = 20 * time.Second

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// frame is the encoded event of an offset, n bytes longer than it must be.
func frame(offset int64, n int) []byte {
	return fmt.Appendf(nil, "data: {\"n\":%d,\"t\":%q}\n\n", offset, strings.Repeat("字", n/3))
}

// begin opens a stream.
func begin(t testing.TB, l relay.Log, stream string) relay.Position {
	t.Helper()
	p, err := l.Open(within(t), stream, []byte("head of "+stream))
	if err != nil || p.Offset != 0 || p.Epoch == "" {
		t.Fatalf("Open: %+v, %v; want offset 0 of some epoch", p, err)
	}
	return p
}

// write appends the entries from … to; terminal says that the last is the end.
func write(t testing.TB, l relay.Log, stream string, from, to int64, terminal bool) (last relay.Position) {
	t.Helper()
	for n := from; n <= to; n++ {
		p, err := l.Append(within(t), stream, relay.Entry{Frame: frame(n, 0), Terminal: terminal && n == to})
		if err != nil || p.Offset != n {
			t.Fatalf("Append %d: %+v, %v", n, p, err)
		}
		last = p
	}
	return last
}

// read gathers what follows p, at most n entries (0 = all), and the error that
// ended it.
func read(ctx context.Context, l relay.Log, stream string, p relay.Position, n int) (got []relay.Entry, err error) {
	for e, err := range l.After(ctx, stream, p) {
		if err != nil {
			return got, err
		}
		got = append(got, e)
		if len(got) == n {
			return got, nil
		}
	}
	return got, nil
}

// same fails unless got is the entries from … to, terminal as said.
func same(t testing.TB, got []relay.Entry, epoch string, from, to int64, terminal bool) {
	t.Helper()
	if int64(len(got)) != to-from+1 {
		t.Fatalf("%d entries, want %d to %d", len(got), from, to)
	}
	for i, e := range got {
		n := from + int64(i)
		want := relay.Position{Epoch: epoch, Offset: n}
		if e.Position != want || !bytes.Equal(e.Frame, frame(n, 0)) || e.Terminal != (terminal && n == to) {
			t.Fatalf("entry %d is %+v %q terminal=%v, want %+v %q", i, e.Position, e.Frame, e.Terminal, want, frame(n, 0))
		}
	}
}

func wantGap(t testing.TB, got []relay.Entry, err error, asked, first, last int64) {
	t.Helper()
	var gap *relay.GapError
	if !errors.As(err, &gap) || !errors.Is(err, relay.ErrGap) {
		t.Fatalf("%d entries, then %v; want a gap", len(got), err)
	}
	if gap.Asked.Offset != asked || gap.First.Offset != first || gap.Last.Offset != last {
		t.Fatalf("the gap says asked %d, first %d, last %d; want %d, %d, %d",
			gap.Asked.Offset, gap.First.Offset, gap.Last.Offset, asked, first, last)
	}
}
