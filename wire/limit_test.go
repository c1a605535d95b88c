package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// An endless frame is an error once it passes the limit, at every split, and
// never costs more memory than a small multiple of the limit.
func TestFrameLimit(t *testing.T) {
	const limit = 1000
	for _, c := range []struct{ format, start, more string }{
		{"sse", "data: ", "x"},
		{"sse", "data: a\n", "data: bcd\n"},
		{"sse", "event: a\r\n", ": comment\r\n"},
		{"sse", ":", "x"},
		{"ndjson", "{", " "},
		{"json-array", "[{", `"a" `},
		{"json-array", "[", "1"},
		{"json-array", "", "?"},
		{"body", "<", "p"},
	} {
		in := []byte(c.start + strings.Repeat(c.more, 5*limit))
		for _, size := range []int{1, 7, 999, 1000, 1001, len(in)} {
			d := decoder(t, c.format, limit)
			frames, err := feed(d, pieces(in, size)...)
			if !errors.Is(err, ErrFrameTooLarge) || !strings.Contains(err.Error(), "1000 bytes") {
				t.Fatalf("%s %q in pieces of %d: %v", c.format, c.start, size, err)
			}
			for _, f := range frames {
				if f.Kind != Comment {
					t.Errorf("%s %q in pieces of %d: frame %s", c.format, c.start, size, f.Kind)
				}
			}
			none := func(Frame) { t.Error("a frame after the error") }
			if e := d.Feed([]byte("\n\n"), none); !errors.Is(e, ErrFrameTooLarge) {
				t.Errorf("the error is not final: %v", e)
			}
			if e := d.Close(none); !errors.Is(e, ErrFrameTooLarge) {
				t.Errorf("Close forgets the error: %v", e)
			}
		}
	}
}

func TestFrameOfJustTheLimit(t *testing.T) {
	for _, c := range []struct{ format, frame string }{
		{"sse", "data: xxxx\n\n"}, {"sse", "event:xxxx\n\n"}, {"sse", ":xxxxxxxxxx\n"},
		{"ndjson", `{"aaaa":"b"}`[:11] + "\n"}, {"json-array", `{"aaaa":"b"}`}, {"body", "<html></html"},
	} {
		in := []byte(c.frame)
		for _, size := range []int{1, len(in)} {
			if frames, err := feed(decoder(t, c.format, len(in)), pieces(in, size)...); err != nil || len(frames) != 1 {
				t.Errorf("%s %q: %d frames, %v", c.format, c.frame, len(frames), err)
			}
			if _, err := feed(decoder(t, c.format, len(in)-1), pieces(in, size)...); !errors.Is(err, ErrFrameTooLarge) {
				t.Errorf("%s %q in pieces of %d, one byte over the limit: %v", c.format, c.frame, size, err)
			}
		}
	}
}

func TestBufferStaysUnderTheLimit(t *testing.T) {
	const limit = 1 << 20
	d := decoder(t, "sse", limit).(*sse)
	p := bytes.Repeat([]byte("x"), 4<<10)
	most := 0
	for {
		if err := d.Feed(p, func(Frame) {}); err != nil {
			break
		}
		most = max(most, cap(d.buf))
	}
	if most > 2*limit || d.buf != nil {
		t.Errorf("held %d bytes under a limit of %d; %d after the error", most, limit, cap(d.buf))
	}
}
