package wire

import (
	"bytes"
	"errors"
)

// sse decodes Server-Sent Events by the WHATWG rules, line by line. A frame
// that lies whole in one piece is a slice of that piece; only a frame that a
// piece cuts is copied to buf.
//
// A line ends at LF, CR or CRLF. A CR ends its line at once, so that an event
// is not held back until the next read shows whether a LF follows. For the same
// frames at every split the LF of a CRLF that completes a frame is therefore in
// no frame's Raw.
type sse struct {
	limit   int
	between bool   // the start is behind us and nothing is in progress: the next byte begins a frame
	id      []byte // last event ID
	err     error  // final
	bom     bom

	buf    []byte // the frame in progress, from its first byte to the end of the piece before
	line   int    // where its unfinished line begins in buf
	skipLF bool   // the piece before ended in CR: a LF that comes first belongs to it

	block  block
	nextID []byte // last event ID once the block in progress ends
	hasID  bool   // nextID is set

	retry    int64 // ms
	hasRetry bool
}

// cursor finds line ends in one piece. It remembers the next LF and the next
// CR, so that a piece is searched once for each, however many lines it has.
type cursor struct {
	p      []byte
	nl, cr int // first one at or after the last asked position; len(p): none
}

func newCursor(p []byte) cursor { return cursor{p: p, nl: -1, cr: -1} }

// end returns the position of the first line end at or after pos, len(p) if
// there is none.
func (c *cursor) end(pos int) int {
	if c.nl < pos {
		c.nl = indexFrom(c.p, pos, '\n')
	}
	if c.cr < pos {
		c.cr = indexFrom(c.p, pos, '\r')
	}
	return min(c.nl, c.cr)
}

func indexFrom(p []byte, pos int, b byte) int {
	if i := bytes.IndexByte(p[pos:], b); i >= 0 {
		return pos + i
	}
	return len(p)
}

// Feed has a short way for a piece that is just one event of one data line that
// ends in LF LF, which is what a service that flushes each event sends. There,
// the search for a CR stands between filling the frame and passing it on
// purpose: copying a frame whose fields were stored just before stalls the
// processor for about as long as the search takes.
func (d *sse) Feed(p []byte, emit func(Frame)) error {
	end := len(p) - 2
	if d.between && end > 4 && end+2 <= d.limit && p[end] == '\n' && p[end+1] == '\n' && bytes.IndexByte(p, '\n') == end {
		if v := dataValue(p[:end]); v != nil {
			f := Frame{Kind: Event, Data: v, ID: d.id, Raw: p}
			if bytes.IndexByte(p, '\r') < 0 {
				emit(f)
				return nil
			}
		}
	}
	return d.feed(p, emit)
}

func (d *sse) feed(p []byte, emit func(Frame)) error {
	if d.err != nil || len(p) == 0 {
		return d.err
	}
	if !d.bom.done || d.skipLF {
		p = d.begin(p)
	}
	d.block.late = true // what it holds came earlier than p
	c := newCursor(p)
	pos := 0
	for len(d.buf) > 0 && pos < len(p) && d.err == nil {
		pos = d.carry(&c, pos, emit)
	}
	if pos < len(p) && d.err == nil {
		d.direct(&c, pos, emit)
	}
	d.between = d.err == nil && d.bom.done && !d.skipLF && len(d.buf) == 0
	return d.err
}

// begin takes from p what belongs to the start of the stream or to the line
// end before.
func (d *sse) begin(p []byte) []byte {
	if !d.bom.done {
		var held string
		held, p = d.bom.strip(p)
		d.keep([]byte(held))
	}
	if d.skipLF && len(p) > 0 {
		d.skipLF = false
		if p[0] == '\n' {
			d.endOfCRLF(p[:1])
			p = p[1:]
		}
	}
	return p
}

// endOfCRLF adds the LF after a CR to the block in progress, if there is one.
func (d *sse) endOfCRLF(lf []byte) {
	if d.block.open() {
		d.keep(lf)
		d.line = len(d.buf)
	}
}

// carry goes on with the frame that an earlier piece began, one line, and
// returns where the next line begins in the piece.
func (d *sse) carry(c *cursor, pos int, emit func(Frame)) int {
	end := c.end(pos)
	if end == len(c.p) {
		d.keep(c.p[pos:])
		return end
	}
	if !d.keep(c.p[pos : end+1]) {
		return end
	}
	d.endLine(d.buf, d.line, len(d.buf)-1, end == pos, emit)
	next := d.after(c.p, end)
	if !d.block.open() {
		d.buf = emptied(d.buf)
		d.line = 0
		return next
	}
	d.line = len(d.buf)
	if next > end+1 {
		d.endOfCRLF(c.p[end+1 : next])
	}
	return next
}

// direct decodes the piece from pos on, where a frame begins, without copying;
// the frame that the piece cuts goes to buf.
func (d *sse) direct(c *cursor, pos int, emit func(Frame)) {
	p := c.p
	start := pos                        // of the frame in progress
	one := Frame{Kind: Event, ID: d.id} // of the short way: the fields that stay are set once
	for pos < len(p) {
		end := c.end(pos)
		if start == pos && end+1 < len(p) && p[end] == '\n' && p[end+1] == '\n' && end+2-pos <= d.limit {
			if v := dataValue(p[pos:end]); v != nil {
				one.Data, one.Raw = v, p[pos:end+2]
				emit(one)
				pos = end + 2
				start = pos
				continue
			}
		}
		if end == len(p) {
			break
		}
		if end+1-start > d.limit {
			d.fail()
			return
		}
		d.endLine(p[start:], pos-start, end-start, false, emit)
		one.ID = d.id
		pos = d.after(p, end)
		if !d.block.open() {
			start = pos
		}
	}
	d.line = pos - start
	d.keep(p[start:])
}

// dataValue returns the value of a line that is a data field with a value or a
// colon, else nil. It is the short way for the one-line events that make up
// nearly all of a model's stream.
func dataValue(line []byte) []byte {
	if len(line) < 5 || string(line[:5]) != "data:" {
		return nil
	}
	if len(line) > 5 && line[5] == ' ' {
		return line[6:]
	}
	return line[5:]
}

// after returns where the line begins that follows the line end at p[end].
func (d *sse) after(p []byte, end int) int {
	next := end + 1
	if p[end] == '\r' {
		if next == len(p) {
			d.skipLF = true
		} else if p[next] == '\n' {
			next++
		}
	}
	return next
}

// keep copies b to the frame in progress; false where that is over the limit.
func (d *sse) keep(b []byte) bool {
	if len(d.buf)+len(b) > d.limit {
		d.fail()
		return false
	}
	d.buf = append(d.buf, b...)
	return true
}

func (d *sse) fail() {
	d.err = tooLarge("sse", d.limit)
	d.buf, d.block = nil, block{}
}

func (d *sse) Close(emit func(Frame)) error {
	if errors.Is(d.err, errClosed) {
		return nil
	}
	if d.err == nil {
		d.keep([]byte(d.bom.tail()))
	}
	if len(d.buf) > 0 && d.err == nil {
		f := Frame{Kind: Unterminated, Event: d.block.eventName(d.buf), ID: d.id, Raw: d.buf}
		if f.Data = d.block.dataOf(d.buf); f.Data == nil {
			f.Data = d.buf[d.line:]
		}
		emit(f)
	}
	if d.err != nil {
		return d.err
	}
	d.err, d.between = errClosed, false
	d.buf, d.block = nil, block{}
	return nil
}

func (d *sse) Retry() (ms int64, ok bool) { return d.retry, d.hasRetry }

func (d *sse) LastEventID() string { return string(d.id) }
