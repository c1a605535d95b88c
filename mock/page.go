package mock

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"weir/stream"
	"weir/wire"
)

// framing is how a dialect puts JSON on the wire.
type framing uint8

const (
	framingSSE framing = iota
	framingNDJSON
	framingArray // one JSON array, delivered in pieces
	framingWhole // one JSON body
)

// frame is one event ready to be written: bytes of a page.
type frame struct {
	kind   stream.Kind
	from   int // in page.buf
	to     int
	output bool // counts as an output event (K)
}

// page is a run of frames that leave at the same moment, built by a voice of
// a dialect. It is reused: reset empties it and keeps its memory.
type page struct {
	framing framing
	sse     sseForm
	buf     []byte
	frames  []frame
	count   int // array elements so far
	err     error
}

// sseForm is how SSE lines are written.
type sseForm struct{ CRLF, NoSpace bool }

func (f sseForm) append(dst []byte, name string, data []byte) ([]byte, error) {
	return wire.AppendSSE(dst, wire.SSEEvent{Event: name, Data: data, CRLF: f.CRLF, NoSpace: f.NoSpace})
}

func (f sseForm) comment(dst []byte, text string) ([]byte, error) {
	from := len(dst)
	dst, err := wire.AppendComment(dst, text)
	if err == nil && f.CRLF {
		dst = append(dst[:from], bytes.ReplaceAll(dst[from:], []byte("\n"), []byte("\r\n"))...)
	}
	return dst, err
}

func (p *page) reset() { p.buf, p.frames = p.buf[:0], p.frames[:0] }

// add ends the frame that began at from.
func (p *page) add(kind stream.Kind, from int) {
	p.frames = append(p.frames, frame{kind: kind, from: from, to: len(p.buf), output: kind.Business()})
}

// event adds a frame that carries JSON. SSE has the name; other framings have
// no place for it.
func (p *page) event(kind stream.Kind, name string, data []byte) {
	from := len(p.buf)
	var err error
	switch p.framing {
	case framingSSE:
		p.buf, err = p.sse.append(p.buf, name, data)
	case framingArray:
		sep := "\n,\n"
		if p.count == 0 {
			sep = "["
		}
		p.buf = append(append(p.buf, sep...), data...)
	case framingNDJSON:
		p.buf, err = wire.AppendNDJSON(p.buf, data)
	case framingWhole:
		p.buf = append(append(p.buf, data...), '\n')
	}
	p.count++
	p.fail(err)
	p.add(kind, from)
}

// bare adds an SSE event block without data.
func (p *page) bare(kind stream.Kind, name string) {
	if p.framing != framingSSE {
		return
	}
	from := len(p.buf)
	var err error
	p.buf, err = p.sse.append(p.buf, name, nil)
	p.fail(err)
	p.add(kind, from)
}

// comment adds an SSE comment; framings without comments have white space
// instead, which their readers skip.
func (p *page) comment(text string) {
	from := len(p.buf)
	if p.framing == framingSSE {
		var err error
		p.buf, err = p.sse.comment(p.buf, text)
		p.fail(err)
	} else {
		p.buf = append(p.buf, '\n')
	}
	p.add(stream.KindHeartbeat, from)
}

// closeArray adds the end of a JSON array.
func (p *page) closeArray() {
	from := len(p.buf)
	if p.count == 0 {
		p.buf = append(p.buf, '[')
	}
	p.buf = append(p.buf, "\n]\n"...)
	p.add(stream.KindOther, from)
}

func (p *page) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// dropBlank takes the blank line (NDJSON: the line end) off the last frame.
func (p *page) dropBlank() {
	if len(p.frames) == 0 {
		return
	}
	last := &p.frames[len(p.frames)-1]
	for _, eol := range []string{"\r\n", "\n"} {
		n := len(eol)
		if last.to-last.from > n && string(p.buf[last.to-n:last.to]) == eol {
			last.to -= n
			return
		}
	}
}

// cutAt is where a frame's bytes are to be cut, or 0 for nowhere: inside a
// character, or between CR and LF.
func cutAt(b []byte, how string) int {
	switch how {
	case "utf8":
		if i := slices.IndexFunc(b, func(c byte) bool { return c >= utf8.RuneSelf }); i >= 0 {
			return i + 1
		}
	case "crlf":
		for i := 1; i < len(b); i++ {
			if b[i-1] == '\r' && b[i] == '\n' {
				return i
			}
		}
	}
	return 0
}

// appendString appends s as a JSON string. s is valid UTF-8.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// jsonOf is the JSON of a value made of maps, slices, strings and numbers.
func jsonOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("mock: a value of its own cannot be written as JSON: " + err.Error())
	}
	return b
}
