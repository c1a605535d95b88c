package wire

import (
	"bytes"
	"strings"
	"testing"
)

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			in := v.bytes(t)
			whole := v.check(t, "whole", in)
			if got := v.check(t, "byte by byte", pieces(in, 1)...); got != whole {
				t.Errorf("byte by byte:\n%swhole:\n%s", got, whole)
			}
			for i := range in {
				if got := v.check(t, "two pieces", in[:i], in[i:]); got != whole {
					t.Errorf("split at %d:\n%swhole:\n%s", i, got, whole)
				}
			}
		})
	}
}

// check decodes the pieces, compares what a conforming parser would dispatch
// and returns all frames.
func (v vector) check(t *testing.T, how string, ps ...[]byte) string {
	t.Helper()
	d := decoder(t, "sse", 0)
	frames, err := feed(d, ps...)
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	n := 0
	for _, f := range frames {
		if f.Kind != Event {
			continue
		}
		name := Text(f.Event)
		if name == "" {
			name = "message"
		}
		if n < len(v.Expected) {
			if w := v.Expected[n]; name != w.Event || Text(f.Data) != w.Data || Text(f.ID) != w.ID {
				t.Errorf("%s: event %d is %q %q id %q, want %q", how, n, name, f.Data, f.ID, w)
			}
		}
		n++
	}
	if n != len(v.Expected) {
		t.Errorf("%s: %d events, want %d", how, n, len(v.Expected))
	}
	s := d.(SSEState)
	if ms, ok := s.Retry(); ok != (v.Retry != nil) || ok && ms != *v.Retry {
		t.Errorf("%s: retry %d %v", how, ms, ok)
	}
	if Text([]byte(s.LastEventID())) != v.LastID {
		t.Errorf("%s: last event id %q, want %q", how, s.LastEventID(), v.LastID)
	}
	return shown(frames)
}

// A line has no limit of its own, and feeding it in small pieces takes time in
// proportion to its length: were it quadratic, this test would not end.
func TestLongLines(t *testing.T) {
	for _, n := range []int{70_000, 8 << 20} {
		data := strings.Repeat("a", n)
		in := []byte("data: " + data + "\n\n")
		for _, size := range []int{1, 4 << 10, len(in) / 2, len(in)} {
			frames, err := feed(decoder(t, "sse", 0), pieces(in, size)...)
			if err != nil || len(frames) != 1 || frames[0].Kind != Event || string(frames[0].Data) != data {
				t.Errorf("%d bytes in pieces of %d: %d frames, %v", n, size, len(frames), err)
			}
		}
	}
}

// One piece of very many short lines must not be searched again for each line,
// whichever line end it uses, inside a block and outside.
func TestManyShortLines(t *testing.T) {
	const lines = 2 << 20
	for _, end := range []string{"\n", "\r", "\r\n"} {
		in := bytes.Repeat([]byte(":"+end), lines)
		frames := 0
		for _, open := range []string{"", "data:" + end} {
			d := decoder(t, "sse", 0)
			emit := func(Frame) { frames++ }
			if err := d.Feed([]byte(open), emit); err != nil {
				t.Fatal(err)
			}
			if err := d.Feed(in, emit); err != nil {
				t.Fatal(err)
			}
		}
		if frames != 2*lines {
			t.Errorf("%q: %d frames", end, frames)
		}
	}
}
