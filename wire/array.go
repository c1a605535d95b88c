package wire

import "errors"

// array decodes one JSON array that arrives in pieces, as Gemini sends it
// without alt=sse. An element is complete at its closing brace, bracket or
// quote, which is its time; a number or word at the byte after it. It follows
// depth and strings only and leaves it to the reader of the element to find
// that its JSON is bad. Values that stand in no array, such as an error object
// in the array's place, are elements too; a run of bytes that begins no JSON
// value is an UnknownField without a name, so that nothing is dropped.
//
// A frame's Raw is its Data. Brackets and commas of the array itself, white
// space outside elements and a byte order mark belong to no frame.
type array struct {
	limit int
	err   error // final
	bom   bom
	buf   []byte // the element in progress, as far as earlier pieces brought it

	state  arrayState
	inside bool // the array's own bracket is open
	depth  int  // open braces and brackets of the element
	quoted bool // in a string
	escape bool // after a backslash in a string
}

type arrayState uint8

const (
	between arrayState = iota // outside elements
	nested                    // in an object or array
	text                      // in a string that is an element
	word                      // in a number, true, false or null
	junk                      // in a run that is no JSON
)

func (d *array) Feed(p []byte, emit func(Frame)) error {
	if d.err != nil || len(p) == 0 {
		return d.err
	}
	if !d.bom.done {
		var held string
		if held, p = d.bom.strip(p); held != "" {
			d.state = junk
			d.keep([]byte(held))
		}
	}
	for pos := 0; pos < len(p) && d.err == nil; {
		if d.state == between {
			pos = d.begin(p, pos)
			continue
		}
		end, complete := d.element(p, pos)
		if !complete {
			d.keep(p[pos:])
			break
		}
		d.finish(p[pos:end], emit)
		pos = end
	}
	return d.err
}

// begin skips what is between elements and says by its state what begins.
func (d *array) begin(p []byte, pos int) int {
	for ; pos < len(p); pos++ {
		c := p[pos]
		switch {
		case isSpace(c) || c == ',':
		case c == ']':
			d.inside = false
		case c == '[' && !d.inside:
			d.inside = true
		default:
			d.state = kindOf(c)
			return pos
		}
	}
	return pos
}

// kindOf says what an element that begins with c is.
func kindOf(c byte) arrayState {
	switch {
	case c == '{' || c == '[':
		return nested
	case c == '"':
		return text
	case c == '-' || c == 't' || c == 'f' || c == 'n' || '0' <= c && c <= '9':
		return word
	}
	return junk
}

// element goes on with the element in progress and returns where it ends.
func (d *array) element(p []byte, pos int) (end int, complete bool) {
	switch d.state {
	case nested, text:
		for i := pos; i < len(p); i++ {
			if d.closes(p[i]) {
				return i + 1, true
			}
		}
	default:
		for i := pos; i < len(p); i++ {
			if c := p[i]; isSpace(c) || c == ',' || c == ']' {
				return i, true
			}
		}
	}
	return len(p), false
}

// closes takes one byte of an object, array or string and reports whether it
// is the element's last.
func (d *array) closes(c byte) bool {
	switch {
	case d.escape:
		d.escape = false
	case d.quoted:
		d.escape = c == '\\'
		if c == '"' {
			d.quoted = false
			return d.state == text
		}
	case c == '"':
		d.quoted = true
	case c == '{' || c == '[':
		d.depth++
	case c == '}' || c == ']':
		d.depth--
		return d.depth == 0
	}
	return false
}

// finish emits the element in progress, of which the piece brought b.
func (d *array) finish(b []byte, emit func(Frame)) {
	raw := b
	if len(d.buf)+len(b) > d.limit {
		d.fail()
		return
	}
	if len(d.buf) > 0 {
		d.buf = append(d.buf, b...)
		raw = d.buf
	}
	f := Frame{Kind: Event, Data: raw, Raw: raw}
	if d.state == junk {
		f.Kind = UnknownField
	}
	emit(f)
	d.buf = emptied(d.buf)
	d.state = between
}

func (d *array) keep(b []byte) {
	if len(d.buf)+len(b) > d.limit {
		d.fail()
		return
	}
	d.buf = append(d.buf, b...)
}

func (d *array) fail() {
	d.err = tooLarge("json-array", d.limit)
	d.buf = nil
}

func (d *array) Close(emit func(Frame)) error {
	if errors.Is(d.err, errClosed) {
		return nil
	}
	if tail := d.bom.tail(); tail != "" {
		d.keep([]byte(tail))
		d.state = junk
	}
	if d.err != nil {
		return d.err
	}
	switch d.state {
	case between:
	case word: // only the end can show that nothing more belongs to it
		d.finish(nil, emit)
	default:
		emit(Frame{Kind: Unterminated, Data: d.buf, Raw: d.buf})
	}
	d.err, d.buf = errClosed, nil
	return nil
}
