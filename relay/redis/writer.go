package redis

import (
	"fmt"
	"sync"
	"time"

	"weir/relay"
)

// writer is what a stream's owner knows of it: what Redis has, and of which
// size, so that it can say what has to go.
type writer struct {
	stream string
	head   []byte
	epoch  string
	mode   string // of the next batch: "o" or "r" until the stream is made, then "a"
	behind string // "1" where the writer does not wait for Redis

	mu        sync.Mutex
	n, f      int64    // newest entry in Redis; newest not kept there any more
	sizes     []uint32 // of the entries f+1 … n
	bytes     int64
	ended     bool
	refreshed time.Time // when its expiry was set
}

// batch is a call of the script, and what it changes where it succeeds.
type batch struct {
	w       *writer
	keys    []string
	args    []any
	n, f    int64
	sizes   []uint32
	bytes   int64
	ended   bool
	refresh bool
	entries int
	payload int
}

func cost(n uint32) int64 { return int64(n) + relay.EntryCost }

// plan makes a batch of entries that follow one another; ring says whether
// readers are to be told. w.mu is held.
func (l *Log) plan(w *writer, from int64, entries []relay.Entry, ring bool) *batch {
	b := &batch{w: w, keys: []string{l.metaKey(w.stream), l.logKey(w.stream)}, n: w.n, f: w.f, bytes: w.bytes, entries: len(entries)}
	b.sizes = w.sizes[:len(w.sizes):len(w.sizes)] // appending makes a new array: a batch may fail
	if from > w.n+1 {                             // what lies between is lost
		b.n, b.f, b.bytes, b.sizes = from-1, from-1, 0, nil
	}
	for _, e := range entries {
		if e.Offset <= b.n {
			continue // it is there
		}
		b.n = e.Offset
		b.sizes = append(b.sizes, uint32(len(e.Frame)))
		b.bytes += cost(uint32(len(e.Frame)))
		b.ended = e.Terminal
	}
	for len(b.sizes) > 0 && (b.bytes > l.o.Bytes || len(b.sizes) > l.o.Events) {
		b.bytes -= cost(b.sizes[0])
		b.sizes = b.sizes[1:]
		b.f++
	}
	b.args = l.args(b, from, ring)
	for _, e := range entries {
		frame := e.Frame
		if e.Offset <= b.f {
			frame = nil // it would be trimmed at once
		}
		b.payload += len(frame)
		b.args = append(b.args, frame)
	}
	return b
}

// kept is how long a stream that runs is kept without a sign of its writer: a
// Spread gives one in time, for silent streams too, so that what it leaves behind
// goes as soon as what has ended.
func (l *Log) kept(w *writer) time.Duration {
	if w.behind != "" {
		return l.life()
	}
	return l.o.Idle
}

func (l *Log) life() time.Duration { return min(max(l.o.TTL, 10*l.o.Lease), l.o.Idle) }

func (l *Log) args(b *batch, from int64, ring bool) []any {
	w := b.w
	ttl, now := time.Duration(0), time.Now()
	switch {
	case b.ended:
		ttl = l.o.TTL
	case w.mode != "a" || now.Sub(w.refreshed) > l.kept(w)/4:
		ttl = l.kept(w)
	}
	b.refresh = ttl > 0
	channel, terminal := "", "0"
	if ring {
		channel = l.bellChannel(w.stream)
	}
	if b.ended {
		terminal = "1"
	}
	args := make([]any, 0, 10+b.entries)
	args = append(args, w.epoch, from, b.f, ttl.Milliseconds(), terminal, channel, w.mode)
	if w.mode == "a" {
		return append(args, "", "", "")
	}
	return append(args, l.o.Instance, w.head, w.behind)
}

// done takes over what a batch changed. w.mu is held.
func (b *batch) done() {
	w := b.w
	w.mode, w.n, w.f, w.bytes, w.ended = "a", b.n, b.f, b.bytes, w.ended || b.ended
	w.sizes = b.sizes
	if b.refresh {
		w.refreshed = time.Now()
	}
}

// verdict is the error of what the script said.
func (b *batch) verdict(reply any) error {
	said, _ := reply.([]any)
	var word string
	var n int64
	if len(said) == 2 {
		word, _ = said[0].(string)
		n, _ = said[1].(int64)
	}
	switch word {
	case saidOK:
		return nil
	case saidGone:
		return relay.ErrGone
	case saidEnded:
		return relay.ErrEnded
	case saidExists:
		return relay.ErrExists
	case saidFenced:
		return fmt.Errorf("%w: another generation has its name", relay.ErrFenced)
	case saidBehind:
		return &behindError{has: n}
	}
	return fmt.Errorf("redis answered the append with %T", reply)
}

// behindError says that Redis has less of a stream than it had taken.
type behindError struct{ has int64 } // entries

func (e *behindError) Error() string {
	return fmt.Sprintf("%v: Redis has %d entries", relay.ErrFenced, e.has)
}

// Is makes it a relay.ErrFenced: to a writer without memory it is.
func (e *behindError) Is(target error) bool { return target == relay.ErrFenced }

// rewind has the writer go on from what Redis has, where that is known entry by
// entry; else from the beginning, as far as that is there: what Redis has of it
// is passed over. It gives the number of entries that Redis had and has not.
func (w *writer) rewind(has int64) (lost int64) {
	lost = w.n - max(has, 0)
	if kept := has - w.f; kept < 0 || kept > int64(len(w.sizes)) {
		w.mode, w.n, w.f, w.bytes, w.sizes = "r", 0, 0, 0, nil
		return lost
	}
	w.n = has
	for _, size := range w.sizes[has-w.f:] {
		w.bytes -= cost(size)
	}
	w.sizes = w.sizes[: has-w.f : has-w.f]
	return lost
}
