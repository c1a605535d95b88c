package wire

import (
	"bytes"
	"errors"
)

// ndjson decodes one JSON value a line. A line ends at LF or CRLF; a blank line
// is a Comment without data (services send them as heartbeats); what follows
// the last line end is Unterminated, or a Comment where it is blank. The Raws
// together are the stream, less one leading byte order mark.
type ndjson struct {
	limit int
	err   error // final
	bom   bom
	buf   []byte // the line in progress, as far as earlier pieces brought it
}

func (d *ndjson) Feed(p []byte, emit func(Frame)) error {
	if d.err != nil || len(p) == 0 {
		return d.err
	}
	if !d.bom.done {
		var held string
		held, p = d.bom.strip(p)
		d.keep([]byte(held))
	}
	if len(d.buf) > 0 {
		p = d.carry(p, emit)
	}
	for d.err == nil {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			d.keep(p)
			break
		}
		if end+1 > d.limit {
			d.fail()
			break
		}
		emit(jsonLine(p[:end+1], false))
		p = p[end+1:]
	}
	return d.err
}

// carry ends the line that an earlier piece began and returns what follows it.
func (d *ndjson) carry(p []byte, emit func(Frame)) []byte {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		d.keep(p)
		return nil
	}
	if d.keep(p[:end+1]) {
		late := end == 0 || end == 1 && p[0] == '\r'
		emit(jsonLine(d.buf, late))
		d.buf = emptied(d.buf)
	}
	return p[end+1:]
}

// jsonLine is the frame of a line that ends in LF.
func jsonLine(raw []byte, late bool) Frame {
	line := raw[:len(raw)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if isBlank(line) {
		return Frame{Kind: Comment, Data: line[:0], Raw: raw, Late: late}
	}
	return Frame{Kind: Event, Data: line, Raw: raw, Late: late}
}

// isBlank reports whether b is JSON white space throughout.
func isBlank(b []byte) bool {
	for _, c := range b {
		if !isSpace(c) {
			return false
		}
	}
	return true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (d *ndjson) keep(b []byte) bool {
	if len(d.buf)+len(b) > d.limit {
		d.fail()
		return false
	}
	d.buf = append(d.buf, b...)
	return true
}

func (d *ndjson) fail() {
	d.err = tooLarge("ndjson", d.limit)
	d.buf = nil
}

func (d *ndjson) Close(emit func(Frame)) error {
	if errors.Is(d.err, errClosed) {
		return nil
	}
	if d.err == nil {
		d.keep([]byte(d.bom.tail()))
	}
	if d.err != nil {
		return d.err
	}
	switch tail := d.buf; {
	case len(tail) == 0:
	case isBlank(tail):
		emit(Frame{Kind: Comment, Data: tail[:0], Raw: tail})
	default:
		emit(Frame{Kind: Unterminated, Data: tail, Raw: tail})
	}
	d.err, d.buf = errClosed, nil
	return nil
}
