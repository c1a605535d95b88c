package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unsafe"
)

// What conforming parsers throw away, and where each frame's bytes are.
func TestSSEFrames(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"comment", ": ping\n\n", `
comment event="" data="ping" id="" field="" raw=": ping\n"`},
		{"empty comment", ":\n", `
comment event="" data="" id="" field="" raw=":\n"`},
		{"comment loses one space", ":  two\n", `
comment event="" data=" two" id="" field="" raw=":  two\n"`},
		{"dataless", "event: end\r\n\r\n", `
dataless event="end" data="" id="" field="" raw="event: end\r\n\r"`},
		{"dataless takes its id", "id: 7\n\ndata: x\n\n", `
dataless event="" data="" id="7" field="" raw="id: 7\n\n"
event event="" data="x" id="7" field="" raw="data: x\n\n"`},
		{"retry alone", "retry: 5\n\n", `
dataless event="" data="" id="" field="" raw="retry: 5\n\n"`},
		{"error as a field", "error: {\"code\":500}\n\n", `
unknown_field event="" data="{\"code\":500}" id="" field="error" raw="error: {\"code\":500}\n"`},
		{"bare JSON keeps its line in Raw", "{\"error\":{\"code\":503}}\r\n\r\n", `
unknown_field event="" data="{\"code\":503}}" id="" field="{\"error\"" raw="{\"error\":{\"code\":503}}\r"`},
		{"line without colon", "oops\n", `
unknown_field event="" data="" id="" field="oops" raw="oops\n"`},
		{"comment inside an event", "data: a\n: c\nfoo: 1\ndata: b\n\n", `
comment event="" data="c" id="" field="" raw=": c\n"
unknown_field event="" data="1" id="" field="foo" raw="foo: 1\n"
event event="" data="a\nb" id="" field="" raw="data: a\n: c\nfoo: 1\ndata: b\n\n"`},
		{"comment before an event is not part of it", ": c\ndata: a\n\n", `
comment event="" data="c" id="" field="" raw=": c\n"
event event="" data="a" id="" field="" raw="data: a\n\n"`},
		{"tail with data", "event: e\nid: 9\ndata: a\ndata: b\n", `
unterminated event="e" data="a\nb" id="" field="" raw="event: e\nid: 9\ndata: a\ndata: b\n"`},
		{"tail with data and half a line", "data: a\ndata: [DO", `
unterminated event="" data="a" id="" field="" raw="data: a\ndata: [DO"`},
		{"tail of half a line", "data: x\n\ndata: [DONE]", `
event event="" data="x" id="" field="" raw="data: x\n\n"
unterminated event="" data="data: [DONE]" id="" field="" raw="data: [DONE]"`},
		{"tail of a name and half a line", "event: e\ndata: 1", `
unterminated event="e" data="data: 1" id="" field="" raw="event: e\ndata: 1"`},
		{"tail of a name", "event: e\n", `
unterminated event="e" data="" id="" field="" raw="event: e\n"`},
		{"tail of half a mark", "\xef\xbb", `
unterminated event="" data="\xef\xbb" id="" field="" raw="\xef\xbb"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			frames, err := feed(decoder(t, "sse", 0), []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := shown(frames), strings.TrimPrefix(c.want, "\n")+"\n"; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// A CR ends its line at once; the LF that comes later adds nothing.
func TestCRIsNotHeldBack(t *testing.T) {
	d := decoder(t, "sse", 0)
	var n int
	emit := func(Frame) { n++ }
	for i, step := range []struct {
		piece  string
		frames int
	}{{": c\r", 1}, {"\n", 1}, {"data: x\r", 1}, {"\n\r", 2}, {"\ndata: y\r\n\r", 3}, {"\n", 3}} {
		if err := d.Feed([]byte(step.piece), emit); err != nil || n != step.frames {
			t.Fatalf("after piece %d (%q): %d frames, want %d; %v", i, step.piece, n, step.frames, err)
		}
	}
}

func TestLate(t *testing.T) {
	for _, c := range []struct {
		pieces string // separated by |
		want   bool
	}{
		{"data: a\n\n", false},
		{"data:| a\n\n", false},
		{"data: a\n|\n", true},
		{"data: a|\n\n", true},
		{"data: a\n|\ndata: b\n\n", true},
		{"data: a\n|data: b\n\n", false},
		{"event: e\n|data: b\n|\n", true},
		{"data: a\n|: c\n\n", true},
		{": c|\n", true},
		{": |c\n", false},
	} {
		var ps [][]byte
		for p := range strings.SplitSeq(c.pieces, "|") {
			ps = append(ps, []byte(p))
		}
		frames, err := feed(decoder(t, "sse", 0), ps...)
		if err != nil || len(frames) == 0 {
			t.Fatal(frames, err)
		}
		f := frames[0]
		if c.pieces == "data: a\n|: c\n\n" {
			f = frames[1]
		}
		if f.Late != c.want {
			t.Errorf("%q: late %v", c.pieces, f.Late)
		}
	}
}

func TestWholeFramesAreNotCopied(t *testing.T) {
	in := []byte("data: x\n\nevent: e\ndata: y\n\n: c\n")
	d := decoder(t, "sse", 0)
	n := 0
	err := d.Feed(in, func(f Frame) {
		n++
		if !within(f.Raw, in) || !within(f.Data, in) {
			t.Errorf("%s %q was copied", f.Kind, f.Raw)
		}
	})
	if err != nil || n != 3 {
		t.Fatal(n, err)
	}
}

// within reports whether part is a slice of whole's memory.
func within(part, whole []byte) bool {
	off := offset(part, whole)
	return off >= 0 && off+len(part) <= len(whole)
}

func offset(part, whole []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole))))
}

func TestSSEAllocatesNothing(t *testing.T) {
	stream, size := openAIChunks(512)
	for _, n := range []int{size, 4 << 10, 70, 1} {
		ps := pieces(stream, n)
		d := decoder(t, "sse", 0)
		events := 0
		emit := func(Frame) { events++ }
		if a := testing.AllocsPerRun(5, func() { decodeAll(d, ps, emit) }); a != 0 {
			t.Errorf("pieces of %d: %v allocations for 512 events", n, a)
		}
		if events != 6*512 {
			t.Errorf("pieces of %d: %d events", n, events)
		}
	}
}

func TestFeedAfterCloseIsRefused(t *testing.T) {
	for _, f := range Formats {
		d := f.New(Options{})
		if err := d.Feed([]byte("data: x\n\n"), func(Frame) {}); err != nil {
			t.Error(f.Name, err)
		}
		if err := d.Close(func(Frame) {}); err != nil {
			t.Error(f.Name, err)
		}
		if err := d.Feed([]byte("data: x\n\n"), func(Frame) {}); !errors.Is(err, errClosed) {
			t.Errorf("%s: Feed after Close: %v", f.Name, err)
		}
		if err := d.Close(func(Frame) { t.Errorf("%s: a second Close emits", f.Name) }); err != nil {
			t.Error(f.Name, err)
		}
	}
}

func TestRetrySaturates(t *testing.T) {
	d := decoder(t, "sse", 0)
	if _, err := feed(d, []byte("retry: "+strings.Repeat("9", 30)+"\n\n")); err != nil {
		t.Fatal(err)
	}
	if ms, ok := d.(SSEState).Retry(); !ok || ms != 1<<63-1 {
		t.Error(ms, ok)
	}
}

func TestBuffersShrink(t *testing.T) {
	d := decoder(t, "sse", 0).(*sse)
	big := append(bytes.Repeat([]byte("data: "+strings.Repeat("x", 1000)+"\n"), 1000), '\n')
	for _, p := range pieces(big, 4<<10) {
		if err := d.Feed(p, func(Frame) {}); err != nil {
			t.Fatal(err)
		}
	}
	if cap(d.buf) > keepCap || cap(d.block.joined) > keepCap {
		t.Errorf("keeps %d and %d bytes after a frame of 1 MB", cap(d.buf), cap(d.block.joined))
	}
}
