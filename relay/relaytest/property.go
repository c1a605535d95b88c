package relaytest

import (
	"bytes"
	"errors"
	"iter"
	"testing"

	"pgregory.net/rapid"

	"weir/relay"
	"weir/wire"
)

// reader is one that has joined: what it was promised and what it got.
type reader struct {
	from int64
	got  []relay.Entry
	err  error
	next func() (relay.Entry, error, bool)
	stop func()
	over bool
}

// maxReaders keeps a drawn case below any log's bound on the readers of a stream.
const maxReaders = 8

// testInterleavings draws the order of appends, joins and reads; each reader
// takes single entries when its turn comes and drains at the end.
func testInterleavings(t *testing.T, open Open) {
	rapid.Check(t, func(r *rapid.T) {
		b := Bounds{Events: rapid.IntRange(1, 12).Draw(r, "keep")}
		l := open(t, b)
		start := begin(t, l, "s")
		n := rapid.Int64Range(1, 40).Draw(r, "entries")
		ctx := within(t)
		var readers []*reader
		defer func() {
			for _, x := range readers {
				x.stop()
			}
		}()
		for at := int64(0); at < n; {
			switch rapid.IntRange(0, 3).Draw(r, "what") {
			case 0:
				if len(readers) == maxReaders {
					continue // one more may be refused as busy
				}
				from := rapid.Int64Range(0, at+2).Draw(r, "from")
				x := &reader{from: from}
				x.next, x.stop = iter.Pull2(l.After(ctx, "s", relay.Position{Epoch: start.Epoch, Offset: from}))
				readers = append(readers, x)
			case 1:
				for _, x := range readers {
					if has := x.from + int64(len(x.got)); has < at || has > at && len(x.got) == 0 {
						x.take() // never one that would wait for the append to come
					}
				}
			default:
				at++
				write(t, l, "s", at, at, at == n)
			}
		}
		for _, x := range readers {
			for !x.over {
				x.take()
			}
			x.judge(r, start.Epoch, n)
		}
	})
}

func (x *reader) take() {
	if x.over {
		return
	}
	e, err, ok := x.next()
	switch {
	case !ok:
		x.over = true
	case err != nil:
		x.err, x.over = err, true
	default:
		x.got = append(x.got, e)
	}
}

// judge fails unless the reader got every entry after its place, or the first
// of them and then a gap.
func (x *reader) judge(r *rapid.T, epoch string, n int64) {
	for i, e := range x.got {
		want := x.from + int64(i) + 1
		if e.Offset != want || e.Epoch != epoch || !bytes.Equal(e.Frame, frame(want, 0)) || e.Terminal != (want == n) {
			r.Fatalf("reader from %d: entry %d is %+v %q", x.from, want, e.Position, e.Frame)
		}
	}
	end := x.from + int64(len(x.got))
	switch {
	case x.err == nil && end != n:
		r.Fatalf("reader from %d ended at %d of %d as if that were all", x.from, end, n)
	case x.err != nil && !errors.Is(x.err, relay.ErrGap):
		r.Fatalf("reader from %d: %v", x.from, x.err)
	}
}

// testCuts carries the log over a connection that breaks at any byte: what a
// client makes of the whole events, resuming by the last id it saw, is the
// exact sequence.
func testCuts(t *testing.T, open Open) {
	rapid.Check(t, func(r *rapid.T) {
		l := open(t, Bounds{})
		start := begin(t, l, "s")
		n := rapid.Int64Range(1, 12).Draw(r, "entries")
		written := rapid.Int64Range(0, n).Draw(r, "before")
		write(t, l, "s", 1, written, written == n)
		place, got := start, []string{}
		for ended := false; !ended; {
			cut := rapid.IntRange(0, 200).Draw(r, "cut")
			var events []wire.Frame
			events, ended = carry(t, l, place, cut)
			for _, f := range events {
				got = append(got, string(f.Data))
				_, p, err := relay.ParseID(string(f.ID))
				if err != nil {
					r.Fatalf("id %q: %v", f.ID, err)
				}
				place = p
			}
			if written < n { // so that the next connection has more to bring
				written++
				write(t, l, "s", written, written, written == n)
			} else if len(events) == 0 && !ended {
				cut = 1 << 20
				events, ended = carry(t, l, place, cut)
				for _, f := range events {
					got = append(got, string(f.Data))
				}
			}
		}
		if int64(len(got)) != n {
			r.Fatalf("%d events, want %d: %q", len(got), n, got)
		}
		for i, data := range got {
			if want := frame(int64(i+1), 0); "data: "+data+"\n\n" != string(want) {
				r.Fatalf("event %d is %q, want %q", i+1, data, want)
			}
		}
	})
}

// carry is one connection: the entries after p that are there, stamped, cut
// after some bytes and decoded. ended says that the terminal entry came whole.
func carry(t *testing.T, l relay.Log, p relay.Position, cut int) (events []wire.Frame, ended bool) {
	t.Helper()
	s, err := l.Stat(within(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	var sent []byte
	if have := int(s.Last.Offset - p.Offset); have > 0 {
		entries, err := read(within(t), l, "s", p, have)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			sent, _ = relay.AppendStamped(sent, e.Frame, "s", e.Position, 0)
		}
	}
	whole := cut >= len(sent)
	d, err := wire.New("sse", wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	keep := func(f wire.Frame) {
		if f.Kind == wire.Event {
			events = append(events, wire.Frame{ID: bytes.Clone(f.ID), Data: bytes.Clone(f.Data)})
		}
	}
	if err := d.Feed(sent[:min(cut, len(sent))], keep); err != nil {
		t.Fatal(err)
	}
	return events, whole && s.Ended
}
