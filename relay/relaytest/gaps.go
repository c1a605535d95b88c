package relaytest

import (
	"errors"
	"testing"
	"time"

	"weir/relay"
)

func testGaps(t *testing.T, open Open) {
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	write(t, l, "s", 1, 5, false)
	for _, p := range []relay.Position{
		{Epoch: start.Epoch, Offset: 6},
		{Epoch: start.Epoch, Offset: 1 << 62},
		{Epoch: start.Epoch, Offset: -1},
		{Offset: 6},
		{Epoch: "another", Offset: 0},
		{Epoch: "another", Offset: 3},
	} {
		got, err := read(within(t), l, "s", p, 0)
		if len(got) != 0 {
			t.Errorf("after %+v: %d entries before the gap", p, len(got))
		}
		wantGap(t, got, err, p.Offset, 0, 5)
	}
}

func testEvictedByCount(t *testing.T, open Open) {
	const keep, n = 10, 35
	l := open(t, Bounds{Events: keep})
	start := begin(t, l, "s")
	write(t, l, "s", 1, n, true)
	evicted(t, l, start.Epoch, n-keep, n)
}

func testEvictedByBytes(t *testing.T, open Open) {
	const keep, n = 10, 35
	size := int64(len(frame(n, 0))) + relay.EntryCost // those kept have two digits
	l := open(t, Bounds{Bytes: keep * size})
	start := begin(t, l, "s")
	write(t, l, "s", 1, n, true)
	evicted(t, l, start.Epoch, n-keep, n)
}

// evicted fails unless the entries after first are there, and nothing is given
// of a position before it.
func evicted(t *testing.T, l relay.Log, epoch string, first, last int64) {
	t.Helper()
	for offset := range last + 1 {
		got, err := read(within(t), l, "s", relay.Position{Epoch: epoch, Offset: offset}, 0)
		if offset >= first {
			if err != nil {
				t.Fatalf("after %d: %v", offset, err)
			}
			same(t, got, epoch, offset+1, last, true)
			continue
		}
		if len(got) > 0 {
			t.Fatalf("after %d: %d entries and then a gap: a partial answer", offset, len(got))
		}
		wantGap(t, got, err, offset, first, last)
	}
	if s, err := l.Stat(within(t), "s"); err != nil || s.First.Offset != first || s.Last.Offset != last {
		t.Errorf("Stat: %+v, %v; want %d to %d", s, err, first, last)
	}
}

// testOvertaken stops a reader in the middle until what it needs is gone.
func testOvertaken(t *testing.T, open Open) {
	const keep, n = 10, 5000
	l := open(t, Bounds{Events: keep})
	start := begin(t, l, "s")
	write(t, l, "s", 1, 3, false)
	var got []relay.Entry
	var last error
	for e, err := range l.After(within(t), "s", start) {
		if err != nil {
			last = err
			continue
		}
		if got = append(got, e); len(got) == 1 {
			write(t, l, "s", 4, n, true)
		}
	}
	if len(got) == n {
		return // a log may hand over more than it keeps, as long as nothing is missing
	}
	same(t, got, start.Epoch, 1, int64(len(got)), false)
	wantGap(t, got, last, int64(len(got)), n-keep, n)
}

func testTooLarge(t *testing.T, open Open) {
	l := open(t, Bounds{Bytes: 1000})
	start := begin(t, l, "s")
	write(t, l, "s", 1, 2, false)
	if _, err := l.Append(within(t), "s", relay.Entry{Frame: frame(3, 3000)}); err != nil {
		t.Fatalf("an entry over the bounds: %v; the stream must go on", err)
	}
	write(t, l, "s", 4, 4, true)
	got, err := read(within(t), l, "s", relay.Position{Epoch: start.Epoch, Offset: 2}, 0)
	wantGap(t, got, err, 2, 3, 4)
	got, err = read(within(t), l, "s", relay.Position{Epoch: start.Epoch, Offset: 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, start.Epoch, 4, 4, true)
}

func testEnd(t *testing.T, open Open) {
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	last := write(t, l, "s", 1, 3, true)
	if _, err := l.Append(within(t), "s", relay.Entry{Frame: frame(4, 0)}); !errors.Is(err, relay.ErrEnded) {
		t.Errorf("Append after the end: %v", err)
	}
	got, err := read(within(t), l, "s", last, 0)
	if err != nil || len(got) != 0 {
		t.Errorf("after the terminal entry: %d entries, %v; want nothing, at once", len(got), err)
	}
	if s, _ := l.Stat(within(t), "s"); !s.Complete(last) || s.Complete(start) || !s.Complete(relay.Position{Offset: 3}) {
		t.Errorf("Complete is wrong about %+v", s)
	}
}

func testFence(t *testing.T, open Open) {
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	if _, err := l.Open(within(t), "s", nil); !errors.Is(err, relay.ErrExists) {
		t.Errorf("Open of a stream in use: %v", err)
	}
	if s, err := l.Stat(within(t), "s"); err != nil || s.Last != start || string(s.Head) != "head of s" {
		t.Errorf("a refused Open changed the stream: %+v, %v", s, err)
	}
	at := func(epoch string, offset int64) error {
		_, err := l.Append(within(t), "s", relay.Entry{
			Position: relay.Position{Epoch: epoch, Offset: offset}, Frame: frame(offset, 0), Terminal: offset == 3,
		})
		return err
	}
	for _, p := range []relay.Position{{Epoch: "old"}, {Epoch: "old", Offset: 1}, {Epoch: start.Epoch, Offset: 2}} {
		if err := at(p.Epoch, p.Offset); !errors.Is(err, relay.ErrFenced) {
			t.Errorf("Append at %+v: %v", p, err)
		}
	}
	for n := range int64(3) {
		if err := at(start.Epoch, n+1); err != nil {
			t.Fatalf("Append %d: %v", n+1, err)
		}
		if err := at(start.Epoch, n+1); !errors.Is(err, relay.ErrFenced) {
			t.Errorf("Append %d a second time: %v", n+1, err)
		}
	}
	got, err := read(within(t), l, "s", start, 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, start.Epoch, 1, 3, true)
}

func testStreams(t *testing.T, open Open) {
	l := open(t, Bounds{})
	a, b := begin(t, l, "a"), begin(t, l, "b")
	if a.Epoch == b.Epoch {
		t.Errorf("two streams have the epoch %s", a.Epoch)
	}
	write(t, l, "a", 1, 2, true)
	write(t, l, "b", 1, 5, true)
	got, err := read(within(t), l, "a", a, 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, a.Epoch, 1, 2, true)
	got, err = read(within(t), l, "b", a, 0)
	wantGap(t, got, err, 0, 0, 5)
}

func testFull(t *testing.T, open Open) {
	l := open(t, Bounds{Streams: 2})
	begin(t, l, "a")
	begin(t, l, "b")
	if _, err := l.Open(within(t), "c", nil); !errors.Is(err, relay.ErrFull) {
		t.Fatalf("a third running stream: %v", err)
	}
	write(t, l, "a", 1, 1, true)
	begin(t, l, "c")
	for ctx := within(t); ; time.Sleep(time.Millisecond) { // a log of two places may take a moment
		if _, err := l.Stat(ctx, "a"); errors.Is(err, relay.ErrGone) {
			break
		} else if err != nil || ctx.Err() != nil {
			t.Errorf("the ended stream made no room: %v", err)
			break
		}
	}
	if _, err := l.Stat(within(t), "b"); err != nil {
		t.Errorf("a running stream had to go: %v", err)
	}
}

func testBusy(t *testing.T, open Open) {
	l := open(t, Bounds{Readers: 2})
	start := begin(t, l, "s")
	write(t, l, "s", 1, 3, true)
	for _, err := range l.After(within(t), "s", start) {
		for _, err2 := range l.After(within(t), "s", start) {
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if got, err := read(within(t), l, "s", start, 0); len(got) > 0 || !errors.Is(err, relay.ErrBusy) {
				t.Errorf("a third reader: %d entries, %v", len(got), err)
			}
			break
		}
		break
	}
	got, err := read(within(t), l, "s", start, 0)
	if err != nil {
		t.Fatalf("after the others left: %v", err)
	}
	same(t, got, start.Epoch, 1, 3, true)
}

func testDrop(t *testing.T, open Open) {
	l := open(t, Bounds{})
	start := begin(t, l, "s")
	write(t, l, "s", 1, 3, false)
	var got []relay.Entry
	var last error
	for e, err := range l.After(within(t), "s", start) {
		if err != nil {
			last = err
			break
		}
		if got = append(got, e); len(got) == 3 {
			if err := l.Drop(within(t), "s"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(got) != 3 || !errors.Is(last, relay.ErrGone) {
		t.Errorf("a reader of a dropped stream had %d entries, then %v", len(got), last)
	}
	if again := begin(t, l, "s"); again.Epoch == start.Epoch {
		t.Error("the next generation has the epoch of the one before")
	}
	if err := l.Drop(within(t), "unknown"); err != nil {
		t.Errorf("Drop of an unknown stream: %v", err)
	}
}

func testUnknown(t *testing.T, open Open) {
	l := open(t, Bounds{})
	if _, err := l.Append(within(t), "s", relay.Entry{}); !errors.Is(err, relay.ErrGone) {
		t.Errorf("Append: %v", err)
	}
	if _, err := l.Stat(within(t), "s"); !errors.Is(err, relay.ErrGone) {
		t.Errorf("Stat: %v", err)
	}
	if got, err := read(within(t), l, "s", relay.Position{}, 0); len(got) > 0 || !errors.Is(err, relay.ErrGone) {
		t.Errorf("After: %d entries, %v", len(got), err)
	}
}

func testNames(t *testing.T, open Open) {
	l := open(t, Bounds{})
	long := make([]byte, 129)
	for i := range long {
		long[i] = 'a'
	}
	for _, id := range []string{"", "a.b", "a b", "a\nb", "}", "字", string(long)} {
		if _, err := l.Open(within(t), id, nil); err == nil {
			t.Errorf("Open(%q) was not refused", id)
		}
	}
	begin(t, l, string(long[:128]))
}
