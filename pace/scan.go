package pace

import "bytes"

// find gives the place of the text in an event that may be cut.
func (f Form) find(event []byte) (start, end int, ok bool) {
	from, to := 0, len(event)
	if f.Format == "sse" {
		if from, to, ok = dataOf(event); !ok {
			return 0, 0, false
		}
	} else if f.Format != "ndjson" || !bytes.HasSuffix(event, []byte("\n")) {
		return 0, 0, false
	}
	for _, s := range shapes[f.Dialect] {
		p := parser{b: event[:to], i: from}
		if p.match(&s, 0) && p.blank() == len(p.b) && p.found {
			return p.start, p.end, true
		}
	}
	return 0, 0, false
}

// dataOf is the data of an SSE event of one line of it, and perhaps a name. An
// event with an id, a comment or anything else is not taken apart.
func dataOf(event []byte) (from, to int, ok bool) {
	end := "\n"
	if bytes.HasSuffix(event, []byte("\r\n\r\n")) {
		end = "\r\n"
	}
	body, ok := bytes.CutSuffix(event, []byte(end+end))
	if !ok {
		return 0, 0, false
	}
	if bytes.HasPrefix(body, []byte("event:")) {
		i := bytes.Index(body, []byte(end))
		if i < 0 {
			return 0, 0, false
		}
		from = i + len(end)
	}
	name := bytes.TrimSuffix(body[:from], []byte(end))
	if bytes.ContainsAny(name, "\r\n") || !bytes.HasPrefix(body[from:], []byte("data:")) || bytes.ContainsAny(body[from:], "\r\n") {
		return 0, 0, false
	}
	return from + len("data:"), len(body), true
}

// parser walks JSON along a shape. It knows no more of it than where values
// end; whatever surprises it ends the walk.
type parser struct {
	b          []byte
	i          int
	start, end int
	found      bool
}

const deepest = 32

// blank skips white space and returns where it is.
func (p *parser) blank() int {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\t' || p.b[p.i] == '\n' || p.b[p.i] == '\r') {
		p.i++
	}
	return p.i
}

// is takes a byte, if it comes next.
func (p *parser) is(c byte) bool {
	if p.blank() == len(p.b) || p.b[p.i] != c {
		return false
	}
	p.i++
	return true
}

// match walks one value.
func (p *parser) match(s *shape, depth int) bool {
	if depth > deepest {
		return false
	}
	switch s.kind {
	case nothing:
		return p.literal("null")
	case no:
		return p.literal("false")
	case word:
		from, to, ok := p.str()
		return ok && string(p.b[from:to]) == s.word
	case text:
		from, to, ok := p.str()
		if !ok || p.found {
			return false
		}
		p.start, p.end, p.found = from, to, true
		return true
	case object:
		return p.is('{') && p.members('}', func() bool { return p.field(s, depth) })
	case one:
		n := 0
		return p.is('[') && p.members(']', func() bool { n++; return n == 1 && p.match(s.of, depth+1) }) && n == 1
	}
	return p.any(depth)
}

// any walks a value of any shape.
func (p *parser) any(depth int) bool {
	if depth > deepest || p.blank() == len(p.b) {
		return false
	}
	switch p.b[p.i] {
	case '"':
		_, _, ok := p.str()
		return ok
	case '{':
		p.i++
		return p.members('}', func() bool {
			_, _, ok := p.str()
			return ok && p.is(':') && p.any(depth+1)
		})
	case '[':
		p.i++
		return p.members(']', func() bool { return p.any(depth + 1) })
	}
	from := p.i
	for p.i < len(p.b) && bytes.IndexByte([]byte(",]} \t\r\n\"{["), p.b[p.i]) < 0 {
		p.i++
	}
	return p.i > from
}

// members walks what stands between commas, up to the end.
func (p *parser) members(end byte, member func() bool) bool {
	if p.is(end) {
		return true
	}
	for {
		if !member() {
			return false
		}
		if p.is(end) {
			return true
		}
		if !p.is(',') {
			return false
		}
	}
}

// field walks one member of an object.
func (p *parser) field(s *shape, depth int) bool {
	from, to, ok := p.str()
	if !ok || !p.is(':') {
		return false
	}
	v, ok := s.fields[string(p.b[from:to])]
	return ok && p.match(&v, depth+1)
}

func (p *parser) literal(s string) bool {
	if !bytes.HasPrefix(p.b[p.blank():], []byte(s)) {
		return false
	}
	p.i += len(s)
	return true
}

// str walks a string and returns what stands between its quotes.
func (p *parser) str() (from, to int, ok bool) {
	if !p.is('"') {
		return 0, 0, false
	}
	from = p.i
	for ; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c == '\\':
			p.i++
		case c == '"':
			p.i++
			return from, p.i - 1, true
		case c < ' ':
			return 0, 0, false
		}
	}
	return 0, 0, false
}
