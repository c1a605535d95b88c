package relaytest

import (
	"context"
	"errors"
	"testing"

	"weir/relay"
)

func testSequence(t *testing.T, open Open) {
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	want := [][]byte{[]byte("data: x\r\n\r\n"), {}, {0, 0xff, '\n'}, frame(4, 100_000), frame(5, 0)}
	for i, f := range want {
		mine := append([]byte(nil), f...)
		p, err := l.Append(within(t), "s", relay.Entry{Frame: mine, Terminal: i == len(want)-1})
		if err != nil || p != (relay.Position{Epoch: start.Epoch, Offset: int64(i + 1)}) {
			t.Fatalf("Append %d: %+v, %v", i, p, err)
		}
		for j := range mine { // the log must have its own copy
			mine[j] = '!'
		}
	}
	got, err := read(within(t), l, "s", start, 0)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d entries, %v; want %d", len(got), err, len(want))
	}
	for i, e := range got {
		if string(e.Frame) != string(want[i]) || e.Terminal != (i == len(want)-1) {
			t.Errorf("entry %d: %q terminal=%v, want %q", i+1, e.Frame, e.Terminal, want[i])
		}
	}
	s, err := l.Stat(within(t), "s")
	if err != nil || string(s.Head) != "head of s" || s.First != start || s.Last.Offset != int64(len(want)) || !s.Ended {
		t.Errorf("Stat: %+v, %v", s, err)
	}
}

func testPositions(t *testing.T, open Open) {
	const n = 100
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	write(t, l, "s", 1, n, true)
	for offset := range int64(n + 1) {
		for _, epoch := range []string{start.Epoch, ""} {
			got, err := read(within(t), l, "s", relay.Position{Epoch: epoch, Offset: offset}, 0)
			if err != nil {
				t.Fatalf("after %d: %v", offset, err)
			}
			same(t, got, start.Epoch, offset+1, n, true)
		}
	}
}

// testFollow writes each entry only when the reader has had the one before.
func testFollow(t *testing.T, open Open) {
	const n = 50
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	turn := make(chan int64)
	ctx := within(t)
	go func() {
		defer close(turn)
		for e, err := range l.After(ctx, "s", start) {
			if err != nil {
				return
			}
			turn <- e.Offset
		}
	}()
	for i := range int64(n) {
		write(t, l, "s", i+1, i+1, i == n-1)
		if got := <-turn; got != i+1 {
			t.Fatalf("entry %d, want %d", got, i+1)
		}
	}
	if extra, more := <-turn; more {
		t.Errorf("entry %d after the terminal one", extra)
	}
}

// testReaders has readers join at all places while the writer writes.
func testReaders(t *testing.T, open Open) {
	const n, readers = 300, 12
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	type result struct {
		from int64
		got  []relay.Entry
		err  error
	}
	results := make(chan result)
	ctx := within(t)
	for i := range int64(n) {
		write(t, l, "s", i+1, i+1, i == n-1)
		if i%(n/readers) == 0 {
			from := i / 2
			go func() {
				got, err := read(ctx, l, "s", relay.Position{Epoch: start.Epoch, Offset: from}, 0)
				results <- result{from, got, err}
			}()
		}
	}
	for range readers {
		r := <-results
		if r.err != nil {
			t.Fatalf("reader from %d: %v", r.from, r.err)
		}
		same(t, r.got, start.Epoch, r.from+1, n, true)
	}
}

// testStopped has a reader that takes one entry and then nothing.
func testStopped(t *testing.T, open Open) {
	const n = 2000
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	first, release, done := make(chan bool), make(chan bool), make(chan []relay.Entry)
	ctx := within(t)
	go func() {
		var got []relay.Entry
		for e, err := range l.After(ctx, "s", start) {
			if err != nil {
				break
			}
			if got = append(got, e); len(got) == 1 {
				close(first)
				<-release
			}
		}
		done <- got
	}()
	write(t, l, "s", 1, 1, false)
	<-first
	write(t, l, "s", 2, n, true) // hangs where the reader could hold it up
	close(release)
	same(t, <-done, start.Epoch, 1, n, true)
}

func testContext(t *testing.T, open Open) {
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	write(t, l, "s", 1, 3, false)
	why := errors.New("the reader had enough")
	ctx, cancel := context.WithCancelCause(within(t))
	defer cancel(nil)
	var got []relay.Entry
	var last error
	for e, err := range l.After(ctx, "s", start) {
		if err != nil {
			last = err
			continue // nothing may come after an error
		}
		if got = append(got, e); len(got) == 3 {
			cancel(why)
		}
	}
	same(t, got, start.Epoch, 1, 3, false)
	if !errors.Is(last, why) {
		t.Errorf("ended with %v, want the context's cause", last)
	}
}
