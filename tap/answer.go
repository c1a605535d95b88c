package tap

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"weir/stream"
)

// answer is what is known of one answer while it comes.
type answer struct {
	marker    Marker
	text      counter
	reasoning counter
	tool      counter
}

// replacement notes a U+FFFD in text: a character was cut on the way.
const replacement = "U+FFFD in text"

// count fills what the answer gained by e.
func (a *answer) count(e *stream.Event) {
	switch e.Kind {
	case stream.KindRestart:
		a.text, a.reasoning, a.tool = counter{}, counter{}, counter{}
	case stream.KindText:
		g := a.text.add(e.Text)
		e.Chars, e.Visible, e.Wide = stream.Some(g.chars), stream.Some(g.visible), stream.Some(g.wide)
		if e.Note == "" && strings.ContainsRune(e.Text, utf8.RuneError) {
			e.Note = replacement
		}
	case stream.KindReasoning:
		e.Chars = stream.Some(a.reasoning.add(e.Text).chars)
	case stream.KindTool:
		e.Chars = stream.Some(a.tool.add(e.Text).chars)
	}
}

// counter counts the extended grapheme clusters (UAX #29) of a text that comes
// in pieces; a cluster cut over two pieces counts once.
type counter struct {
	tail string // the last cluster so far: the next piece may extend it
}

// gain counts clusters: all, the visible ones, the wide ones.
type gain struct{ chars, visible, wide int }

// maxTail bounds the work on a "cluster" of endless combining marks.
const maxTail = 256

func (c *counter) add(s string) gain {
	if s == "" {
		return gain{}
	}
	if g, ok := c.addASCII(s); ok {
		return g
	}
	before := measure(c.tail)
	var g gain
	it := graphemes.FromString(c.tail + s)
	last := ""
	for it.Next() {
		last = it.Value()
		one := measure(last)
		g.chars += one.chars
		g.visible += one.visible
		g.wide += one.wide
	}
	if len(last) > maxTail {
		last = ""
	}
	c.tail = strings.Clone(last)
	return gain{g.chars - before.chars, g.visible - before.visible, g.wide - before.wide}
}

// addASCII is add for the common case, printable ASCII after printable ASCII:
// each byte is a cluster of its own, and nothing is allocated.
func (c *counter) addASCII(s string) (gain, bool) {
	if len(c.tail) > 1 || c.tail != "" && !printable(c.tail[0]) {
		return gain{}, false
	}
	g := gain{chars: len(s)}
	for i := range len(s) {
		if !printable(s[i]) {
			return gain{}, false
		}
		if s[i] != ' ' {
			g.visible++
		}
	}
	last := s[len(s)-1]
	c.tail = string(rune(last))
	return g, true
}

func printable(b byte) bool { return b >= ' ' && b < 0x7f }

// measure says what one cluster (or nothing) counts for.
func measure(cluster string) gain {
	if cluster == "" {
		return gain{}
	}
	g := gain{chars: 1}
	for _, r := range cluster {
		if visible(r) {
			g.visible = 1
			break
		}
	}
	if r, _ := utf8.DecodeRuneInString(cluster); unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
		g.wide = 1
	}
	return g
}

// visible reports whether r makes a cluster visible: not white space, not
// default-ignorable, not control, format, private or unassigned, not a
// combining mark (one on a base is carried by its base; alone it shows nothing).
func visible(r rune) bool {
	if r > ' ' && r < 0x7f {
		return true
	}
	if unicode.IsSpace(r) || ignorable(r) {
		return false
	}
	return !unicode.In(r, unicode.Mn, unicode.Me, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co) && assigned(r)
}

// ignorable holds the Default_Ignorable_Code_Point characters that are not in
// a category refused above: the hangul fillers and the grapheme joiner.
func ignorable(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0:
		return true
	}
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe0fff
}

// assigned reports whether r has a general category. Characters newer than
// Go's tables count as visible where their block is in use, so only the planes
// without any assignment are refused.
func assigned(r rune) bool { return r < 0x40000 }
