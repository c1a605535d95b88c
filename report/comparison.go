package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"weir/judge"
)

// ComparisonFormat is one way to write a comparison.
type ComparisonFormat struct {
	Name  string
	Doc   string
	Write func(io.Writer, judge.Comparison, View) error
}

// ComparisonFormats lists every format.
var ComparisonFormats = []ComparisonFormat{
	{"text", "for a person at a terminal", WriteComparisonText},
	{"json", "for a program: one object", func(w io.Writer, c judge.Comparison, _ View) error { return writeObject(w, c) }},
	{"markdown", "for a pull request", func(w io.Writer, c judge.Comparison, _ View) error { return writeComparisonMarkdown(w, c) }},
}

// LookupComparison finds a format by its name; the error of an unknown one lists them.
func LookupComparison(name string) (ComparisonFormat, error) {
	var names []string
	for _, f := range ComparisonFormats {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return ComparisonFormat{}, fmt.Errorf("unknown output format %q: expected one of %s", name, strings.Join(names, ", "))
}

// comparisonLine is a comparison in one line.
func comparisonLine(c judge.Comparison) (word, why string) {
	word = strings.ToUpper(strings.ReplaceAll(c.Verdict, "_", " "))
	var parts []string
	for _, f := range c.Figures {
		if f.Family && f.Verdict == c.Verdict && (c.Verdict == judge.Slower || c.Verdict == judge.Faster) {
			parts = append(parts, comparisonFinding(f))
		}
	}
	switch {
	case len(parts) > 0:
		return word, strings.Join(parts[:min(len(parts), 2)], "; ") + more(len(parts)-2)
	case !c.Convicts:
		return word, fmt.Sprintf("indicative only: %d and %d runs, and %s a side are needed to judge %s", c.A.N, c.B.N, count(c.Need, "run"), count(c.M, "figure"))
	case c.Verdict == judge.Same:
		return word, "every figure of the family is the same within its margin"
	}
	return word, "the runs do not bear a difference beyond the margins, nor that there is none"
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; and %d more", n)
}

// comparisonFinding is a figure's shift: "ttft p50 +120 ms (+30 %), 95 % interval 100 to 140 ms, margin 20 ms".
func comparisonFinding(f judge.FigureVerdict) string {
	text := f.Figure.String() + " " + shiftText(f)
	if f.Interval != nil {
		text += ", 95 % interval " + boundsText(*f.Interval, f.Unit)
	}
	if f.Margin != nil {
		text += ", margin " + difference(*f.Margin, f.Unit)
	}
	return fmt.Sprintf("%s, n %d and %d", text, f.A.N, f.B.N)
}

func shiftText(f judge.FigureVerdict) string {
	if f.Shift == nil {
		return notKnown
	}
	text := signed(*f.Shift, f.Unit)
	if f.Relative != nil && f.Unit != "share" {
		text += " (" + plus(*f.Relative) + percent(*f.Relative) + ")"
	}
	return text
}

func plus(v float64) string {
	if v > 0 {
		return "+"
	}
	return ""
}

// signed shows a difference; of shares in points, for "%" would be read as a
// part of what it was.
func signed(v float64, unit string) string { return plus(v) + difference(v, unit) }

func difference(v float64, unit string) string {
	if unit == "share" {
		return strings.TrimSuffix(percent(v), "%") + "points"
	}
	return Figure(v, unit)
}

func boundsText(b judge.Bounds, unit string) string {
	return between(signed(b[0], unit), signed(b[1], unit))
}

// interval of a figure: over runs, else drawn by the bootstrap.
func shiftInterval(f judge.FigureVerdict) string {
	switch {
	case f.Interval != nil:
		return boundsText(*f.Interval, f.Unit)
	case f.Drawn != nil:
		return boundsText(*f.Drawn, f.Unit) + " (bootstrap)"
	}
	return notKnown
}

func sideMedian(s judge.SideFigure, unit string) string {
	if s.Median != nil {
		return Figure(*s.Median, unit)
	}
	if s.N > 0 && 2*s.Never >= s.N {
		return "never"
	}
	return notKnown
}

func marginText(f judge.FigureVerdict) string {
	if f.Margin == nil {
		return notKnown
	}
	return difference(*f.Margin, f.Unit)
}

func holmText(f judge.FigureVerdict) string {
	if f.PHolm == nil {
		return ""
	}
	return fmt.Sprintf("%.3g", *f.PHolm)
}

func figureWord(f judge.FigureVerdict) string {
	switch {
	case f.Verdict == judge.NoEvidence && f.Leans != "":
		return "leans " + f.Leans
	case f.Verdict == judge.Same:
		return "same within margin"
	}
	return strings.ReplaceAll(f.Verdict, "_", " ")
}

// WriteComparisonText writes a comparison for a person.
func WriteComparisonText(w io.Writer, c judge.Comparison, v View) error {
	p := newPage(v)
	word, why := comparisonLine(c)
	p.para(0, span{word + "  ", verdictStyle(c.Verdict)}, span{why, plainly})
	p.blank()
	p.para(0, span{"A  ", bold}, span{sideText(c.A), plainly})
	p.para(0, span{"B  ", bold}, span{sideText(c.B), plainly})
	comparisonTable(p, c, true)
	comparisonTable(p, c, false)
	if len(c.Warnings) > 0 {
		p.blank()
	}
	for _, x := range c.Warnings {
		p.para(0, span{"warning: ", yellow}, span{x, plainly})
	}
	return p.writeTo(w)
}

func sideText(s judge.ComparedSide) string {
	parts := []string{cmp.Or(s.Name, "unnamed") + ": " + count(s.N, "run")}
	for _, k := range slices.Sorted(maps.Keys(s.Varied)) {
		parts = append(parts, k+" "+cmp.Or(s.Varied[k], "not given"))
	}
	return strings.Join(parts, ", ")
}

func comparisonTable(p *page, c judge.Comparison, family bool) {
	rows := [][]span{{{"", dim}, {"A", dim}, {"B", dim}, {"shift", dim}, {"95 % interval", dim}, {"margin", dim}, {"p (Holm)", dim}, {"n", dim}, {"", dim}}}
	var whys [][2]string
	for _, f := range c.Figures {
		if f.Family != family {
			continue
		}
		rows = append(rows, []span{
			{cut(Clean(f.Figure.String()), 34), plainly}, {sideMedian(f.A, f.Unit), plainly}, {sideMedian(f.B, f.Unit), plainly},
			{shiftText(f), bold}, {shiftInterval(f), dim}, {marginText(f), dim}, {holmText(f), dim},
			{fmt.Sprintf("%d/%d", f.A.N, f.B.N), dim}, {figureWord(f), verdictStyle(f.Verdict)},
		})
		if family && f.Why != "" {
			whys = append(whys, [2]string{f.Figure.String(), f.Why})
		}
	}
	if len(rows) == 1 {
		return
	}
	if family {
		p.heading("The family", fmt.Sprintf("%s, judged together at %s; medians of the runs", c.Family, percent(c.Alpha)))
	} else {
		p.heading("Beside it", "indicative: no verdict rests on these")
	}
	stacked(p, []bool{false, true, true, true, true, true, true, true, false}, rows)
	for _, x := range whys {
		p.para(2, span{x[0] + ": ", dim}, span{x[1], plainly})
	}
}

func writeComparisonMarkdown(w io.Writer, c judge.Comparison) error {
	var m markdown
	word, why := comparisonLine(c)
	m.line("### " + verdictSign(c.Verdict) + " weir compare: " + word)
	m.blank()
	m.line(mdText(why))
	m.blank()
	m.line("A: " + mdText(sideText(c.A)) + "; B: " + mdText(sideText(c.B)))
	for _, family := range []bool{true, false} {
		if !slices.ContainsFunc(c.Figures, func(f judge.FigureVerdict) bool { return f.Family == family }) {
			continue
		}
		m.blank()
		if !family {
			m.line("<details><summary>Beside it (indicative)</summary>")
			m.blank()
		}
		m.head("figure", "A", "B", "shift", "95 % interval", "margin", "p (Holm)", "n", "verdict")
		for _, f := range c.Figures {
			if f.Family == family {
				m.row(f.Figure.String(), sideMedian(f.A, f.Unit), sideMedian(f.B, f.Unit), shiftText(f), shiftInterval(f),
					marginText(f), holmText(f), fmt.Sprintf("%d/%d", f.A.N, f.B.N), figureWord(f))
			}
		}
		if !family {
			m.blank()
			m.line("</details>")
		}
	}
	for _, x := range c.Warnings {
		m.blank()
		m.line("> warning: " + mdText(x))
	}
	_, err := io.WriteString(w, m.String())
	return err
}
