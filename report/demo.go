package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"weir/diagnose"
	"weir/metric"
	"weir/stream"
)

// Demo is the same streams as two clients saw them.
type Demo struct {
	Rows []DemoRow
	Took time.Duration
	Logs string // the event log
	View View
}

// DemoRow is one stream: what a client that knows only HTTP says of it, and
// what weir recorded.
type DemoRow struct {
	Name     string
	Naive    Naive
	Record   *stream.Record
	Findings []diagnose.Finding // of this stream alone, most severe first
}

// Naive is what a client that knows only HTTP says.
type Naive struct {
	FirstByte stream.Maybe[time.Duration] // of the body
	Total     time.Duration
	Result    string // "ok", or its error
}

// stripCols is the width of a strip in the demonstration.
const stripCols = 20

// WriteDemo writes a row a stream on one time scale, a line on each that is
// not well, and what to do next.
func WriteDemo(w io.Writer, d Demo) error {
	p := newPage(d.View)
	p.line(span{fmt.Sprintf("%d streams of a mock model service, each read by two clients at once, in %s",
		len(d.Rows), duration(d.Took)), bold})
	p.blank()
	rows := demoRows(d.Rows)
	if p.width < 98 { // no room for first text
		for i, row := range rows {
			rows[i] = slices.Delete(row, 4, 5)
		}
	}
	scale := demoScale(d.Rows)
	cols := min(max(p.width-tableWidth(rows)-2, 6), stripCols)
	rows[0] = append(rows[0], span{"arrivals", dim})
	legend := ""
	for i, r := range d.Rows {
		strip := Strip(r.Record, cols, scale)
		legend += strip
		rows[i+1] = append(rows[i+1], span{strip, cyan})
	}
	at := columns(rows)
	p.line(span{pad("", at[1]) + pad("naive client says", at[3]-at[1]) + "weir says", dim})
	p.table(0, make([]bool, len(rows[0])), rows)
	p.blank()
	p.para(0, span{}, span{fmt.Sprintf("arrivals from 0 to %s: %s", duration(scale), stripLegend(legend)), dim})
	p.blank()
	for _, r := range d.Rows {
		if f, ok := r.finding(); ok {
			p.para(0, span{"→ ", yellow}, span{r.Name + ": " + demoText(f), plainly})
		}
	}
	p.blank()
	if d.Logs != "" {
		p.line(span{"log   ", dim}, span{d.Logs, plainly})
		p.line(span{"next  ", dim}, span{"weir analyze " + d.Logs, plainly})
	}
	p.line(span{"yours ", dim}, span{"weir probe http://127.0.0.1:8000", plainly})
	return p.writeTo(w)
}

func demoScale(rows []DemoRow) time.Duration {
	var span time.Duration
	for _, r := range rows {
		span = max(span, Length(r.Record))
	}
	return span
}

func demoRows(rows []DemoRow) [][]span {
	out := [][]span{
		{{"character", dim}, {"first byte", dim}, {"result", dim}, {"ttft", dim}, {"first text", dim},
			{"longest gap", dim}, {"outcome", dim}},
	}
	for _, r := range rows {
		v := metric.Measure(r.Record)
		first := notKnown
		if at, ok := r.Naive.FirstByte.Get(); ok {
			first = duration(at)
		}
		out = append(out, []span{
			{r.Name, bold}, {first, plainly}, {cut(r.Naive.Result, 10), plainly},
			{value(v.Get("ttft_sent"), "ms"), plainly}, {value(v.Get("first_text_sent"), "ms"), plainly},
			{value(v.Get("gap_max"), "ms"), plainly},
			{outcomeWord(r.Record), outcomeStyle(r.Record.Outcome)},
		})
	}
	return out
}

// finding is the one to say of a stream: its slowest stage where it names
// stages, else the most severe.
func (r DemoRow) finding() (diagnose.Finding, bool) {
	for _, f := range r.Findings {
		if f.Code == "longest_stage" {
			return f, true
		}
	}
	if len(r.Findings) > 0 && r.Findings[0].Severity != diagnose.Info {
		return r.Findings[0], true
	}
	return diagnose.Finding{}, false
}

// demoText is a finding in a line with the first figures it rests on.
func demoText(f diagnose.Finding) string {
	var parts []string
	for _, e := range f.Evidence {
		if e.Name != "answers" && e.Value > 0 && len(parts) < 3 {
			parts = append(parts, words(strings.TrimSuffix(e.Name, "_p50"))+" "+Figure(e.Value, e.Unit))
		}
	}
	text := strings.Replace(f.Text, " (in the one answer)", "", 1) // a row is one answer
	return strings.TrimSuffix(text, ".") + " [" + strings.Join(parts, ", ") + "]"
}
