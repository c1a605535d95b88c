package pace

import (
	"bytes"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Form says how an event is written.
type Form struct {
	Dialect string // name, as in package dialect
	Format  string // sse or ndjson
}

const (
	unit        = 8   // grapheme clusters: an event with up to twice as many is not cut
	mostContext = 256 // bytes of a cluster that may go on in the next event
)

// part is an event's text, and where it may be cut.
type part struct {
	start, end int   // the text in the event's bytes, as JSON writes it
	cuts       []int // after each cluster but the last; nil = none
}

// units are what an event counts as.
func (p *part) units() int {
	if p.cuts == nil {
		return 1
	}
	return (len(p.cuts) + 1) / unit
}

// take writes the event with the next n units of its text; begun says that some
// of it left before.
func (p *part) take(event []byte, n int, last, begun bool) []byte {
	if last && !begun {
		return event
	}
	from, to := p.start, p.end
	if begun {
		from = p.cuts[0]
		p.cuts = p.cuts[1:]
	}
	if !last {
		// The first cut stands for the beginning of what follows.
		p.cuts = p.cuts[n*unit-1:]
		to = p.cuts[0]
	}
	b := make([]byte, 0, len(event)-(p.end-p.start)+to-from)
	b = append(b, event[:p.start]...)
	b = append(b, event[from:to]...)
	return append(b, event[p.end:]...)
}

// context is the text that came before: clusters may go on over events.
type context struct {
	tail  []byte // the last cluster
	blind bool   // what came last could not be read
	buf   []byte // context and text, decoded; reused
	at    []int  // for each byte of the text where it stands in the event; reused
}

// read finds where an event may be cut.
func (c *context) read(f Form, event []byte, whole bool) part {
	if whole {
		return part{}
	}
	start, end, ok := f.find(event)
	if !ok || !c.decode(event, start, end) {
		c.tail, c.blind = c.tail[:0], true
		return part{}
	}
	before, cut := len(c.tail), !c.blind
	var clusters []int
	tail := 0
	for it := graphemes.FromBytes(c.buf); it.Next(); {
		tail = it.Start()
		if tail > before {
			clusters = append(clusters, c.at[tail-before])
		}
	}
	c.blind = len(c.buf)-tail > mostContext
	c.tail = append(c.tail[:0], c.buf[tail:]...)
	p := part{start: start, end: end}
	if cut && len(clusters)+1 >= 2*unit {
		p.cuts = clusters
	}
	return p
}

// decode appends the text of a JSON string to the context; false where it is
// not whole: ill-formed UTF-8, half of a surrogate pair.
func (c *context) decode(event []byte, start, end int) bool {
	c.buf, c.at = append(c.buf[:0], c.tail...), c.at[:0]
	for i := start; i < end; {
		from, had := i, len(c.buf)
		r, next, ok := char(event[:end], i)
		if !ok {
			return false
		}
		i = next
		c.buf = utf8.AppendRune(c.buf, r)
		for range len(c.buf) - had {
			c.at = append(c.at, from)
		}
	}
	return true
}

// char reads the character of a JSON string at b[i] and returns what follows it.
func char(b []byte, i int) (r rune, next int, ok bool) {
	if b[i] == '\\' {
		return escape(b, i)
	}
	r, n := utf8.DecodeRune(b[i:])
	return r, i + n, r != utf8.RuneError || n > 1
}

// escape reads the JSON escape at b[i].
func escape(b []byte, i int) (r rune, next int, ok bool) {
	if i+1 >= len(b) {
		return 0, i, false
	}
	if b[i+1] != 'u' {
		const names, values = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		k := bytes.IndexByte([]byte(names), b[i+1])
		if k < 0 {
			return 0, i, false
		}
		return rune(values[k]), i + 2, true
	}
	hi, ok := hex4(b, i+2)
	i += 6
	switch {
	case !ok || hi >= 0xdc00 && hi <= 0xdfff:
		return 0, i, false
	case hi < 0xd800 || hi > 0xdfff:
		return hi, i, true
	case i+1 >= len(b) || b[i] != '\\' || b[i+1] != 'u':
		return 0, i, false
	}
	lo, ok := hex4(b, i+2)
	if !ok || lo < 0xdc00 || lo > 0xdfff {
		return 0, i, false
	}
	return 0x10000 + (hi-0xd800)<<10 + (lo - 0xdc00), i + 6, true
}

func hex4(b []byte, i int) (r rune, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
