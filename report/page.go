package report

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// style is how a piece of text looks on a terminal that has colours.
type style string

const (
	plainly style = ""
	bold    style = "1"
	dim     style = "2"
	red     style = "31"
	green   style = "32"
	yellow  style = "33"
	cyan    style = "36"
)

// span is a piece of a line.
type span struct {
	text  string
	style style
}

// page is a text report being written. Every piece of text passes through
// line, which neutralises it: only the page itself emits escapes.
type page struct {
	b     strings.Builder
	color bool
	width int
}

func newPage(v View) *page {
	p := &page{color: v.Color, width: v.Width}
	if p.width <= 0 {
		p.width = 100
	}
	p.width = max(p.width, 60)
	return p
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// line writes one line, cut where the page ends.
func (p *page) line(spans ...span) {
	room := p.width
	for i := range spans {
		spans[i].text = cut(Clean(spans[i].text), room)
		room -= width(spans[i].text)
	}
	for len(spans) > 0 { // no blanks at the end
		last := &spans[len(spans)-1]
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			break
		}
		spans = spans[:len(spans)-1]
	}
	for _, s := range spans {
		p.ink(s.text, s.style)
	}
	p.b.WriteByte('\n')
}

func (p *page) ink(text string, s style) {
	if !p.color || s == plainly || strings.TrimSpace(text) == "" {
		p.b.WriteString(text)
		return
	}
	p.b.WriteString("\x1b[" + string(s) + "m" + text + "\x1b[0m")
}

func (p *page) blank() { p.b.WriteByte('\n') }

// heading begins a section.
func (p *page) heading(title, rest string) {
	p.blank()
	if rest != "" {
		rest = "  " + rest
	}
	p.line(span{title, bold}, span{rest, dim})
}

// para writes text wrapped to the page after a label; further lines stand
// under the text.
func (p *page) para(indent int, label span, text span) {
	head := strings.Repeat(" ", indent)
	left := indent + displaywidth.String(Clean(label.text))
	for i, l := range wrap(Clean(text.text), p.width-left) {
		if i == 0 {
			p.line(span{head, plainly}, label, span{l, text.style})
			continue
		}
		p.line(span{strings.Repeat(" ", left), plainly}, span{l, text.style})
	}
}

// flow writes the parts of one statement, none of them broken in two.
func (p *page) flow(parts []string) {
	line := ""
	for _, part := range parts {
		part = Clean(part)
		switch {
		case width(part) > p.width:
			if line != "" {
				p.line(span{line, plainly})
			}
			p.para(0, span{}, span{part, plainly})
			line = ""
		case line == "":
			line = part
		case width(line)+3+width(part) <= p.width:
			line += " | " + part
		default:
			p.line(span{line, plainly})
			line = part
		}
	}
	if line != "" {
		p.line(span{line, plainly})
	}
}

// table writes rows of cells in columns; right names the columns whose cells
// stand to the right. Empty rows are left out.
func (p *page) table(indent int, right []bool, rows [][]span) {
	widths := make([]int, len(right))
	for _, row := range rows {
		for i := range row {
			row[i].text = Clean(row[i].text)
			widths[i] = max(widths[i], displaywidth.String(row[i].text))
		}
	}
	for _, row := range rows {
		line := []span{{strings.Repeat(" ", indent), plainly}}
		for i, c := range row {
			fill := strings.Repeat(" ", widths[i]-displaywidth.String(c.text))
			if right[i] {
				line = append(line, span{fill, plainly}, c)
			} else {
				line = append(line, c, span{fill, plainly})
			}
			line = append(line, span{"  ", plainly})
		}
		p.line(line...)
	}
}

// columns is where each column of a table begins, and last where the table ends.
func columns(rows [][]span) []int {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i >= len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(Clean(c.text)))
		}
	}
	at := []int{0}
	for i, w := range widths {
		at = append(at, at[i]+w+2)
	}
	return at
}

// tableWidth is the width of a table, with the blanks after its last column.
func tableWidth(rows [][]span) int {
	at := columns(rows)
	return at[len(at)-1]
}

// pad fills text with blanks to a width.
// width is the columns that text takes.
func width(text string) int { return displaywidth.String(text) }

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-displaywidth.String(text), 0))
}

// cut shortens text to a width, saying so.
func cut(text string, width int) string {
	if displaywidth.String(text) <= width {
		return text
	}
	if width < 3 {
		return strings.Repeat(".", max(width, 0))
	}
	return displaywidth.TruncateString(text, width, "...")
}

// wrap breaks text into lines of at most width columns, at blanks and between
// wide characters, inside a word only where it is too long for a line.
func wrap(text string, width int) []string {
	width = max(width, 10)
	var lines []string
	line, used := "", 0
	flush := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line, used = "", 0
	}
	for _, piece := range pieces(text) {
		w := displaywidth.String(piece)
		if used+displaywidth.String(strings.TrimRight(piece, " ")) > width && used > 0 {
			flush()
		}
		for w > width {
			head := displaywidth.TruncateString(piece, width, "")
			lines = append(lines, head)
			piece = piece[len(head):]
			w = displaywidth.String(piece)
		}
		line += piece
		used += w
	}
	if strings.TrimSpace(line) != "" || len(lines) == 0 {
		flush()
	}
	return lines
}

// endsInDigit reports whether a word is a number, which stays with its unit.
func endsInDigit(word string) bool {
	word = strings.TrimSuffix(word, " ")
	return word != "" && word[len(word)-1] >= '0' && word[len(word)-1] <= '9'
}

// pieces cuts text into what must not be broken: words with the blanks after
// them, and wide characters one by one.
func pieces(text string) []string {
	var out []string
	word := ""
	g := displaywidth.StringGraphemes(text)
	for g.Next() {
		v := g.Value()
		switch {
		case g.Width() > 1:
			if word != "" {
				out = append(out, word)
			}
			out, word = append(out, v), ""
		case strings.HasSuffix(word, " ") && v != " " && !endsInDigit(word):
			out, word = append(out, word), v
		default:
			word += v
		}
	}
	if word != "" {
		out = append(out, word)
	}
	return out
}
