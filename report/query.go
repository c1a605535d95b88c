package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir/metric"
	"weir/stat"
	"weir/table"
)

// Query is what a question to a store gave.
type Query struct {
	Where  string        // the filter, as it was asked
	By     []string      // fields by which rows were grouped
	Rows   int           // how many rows passed
	Runs   int           // of how many runs
	Groups []table.Group // their rows
	Names  []string      // metrics to summarise; those that no row of a group knows are left out
	View   View          // text only
}

// QueryFormat is one way to write the answer to a query.
type QueryFormat struct {
	Name    string
	Summary func(io.Writer, Query) error // a line per group and metric
	Rows    func(io.Writer, Query) error // the rows themselves
}

// QueryFormats lists every format.
var QueryFormats = []QueryFormat{
	{"text", WriteQueryText, WriteRowsText},
	{"json", WriteQueryJSON, func(w io.Writer, q Query) error { return WriteRowsJSON(w, q.rows()) }},
	{"csv", WriteQueryCSV, func(w io.Writer, q Query) error { return WriteRunCSV(w, Run{Rows: q.rows()}) }},
}

func (q Query) rows() []table.Row {
	var out []table.Row
	for _, g := range q.Groups {
		out = append(out, g.Rows...)
	}
	return out
}

// lines are the summaries of every group.
func (q Query) lines() []table.Line {
	var out []table.Line
	for _, g := range q.Groups {
		for _, l := range table.Summarize(g, q.Names...) {
			if l.N > 0 {
				out = append(out, l)
			}
		}
	}
	return out
}

// shown are the fields that tell groups apart, or tell anything: a column of
// blanks is left out.
func (q Query) shown() []string {
	return slices.DeleteFunc(slices.Clone(q.By), func(field string) bool {
		return !slices.ContainsFunc(q.Groups, func(g table.Group) bool { return g.Value(field) != "" })
	})
}

// WriteQueryText writes tables for a person: of one metric all groups in one,
// of several a table a group.
func WriteQueryText(w io.Writer, q Query) error {
	p := newPage(q.View)
	q.head(p)
	lines := q.lines()
	switch {
	case q.Rows == 0:
	case len(lines) == 0:
		p.line(span{"no row knows any of " + strings.Join(q.Names, ", "), plainly})
	case len(q.Names) == 1:
		lineTable(p, q.shown(), lines)
	default:
		q.groupTables(p)
	}
	return p.writeTo(w)
}

func (q Query) groupTables(p *page) {
	shown := q.shown()
	for _, g := range q.Groups {
		var key []string
		for _, field := range shown {
			if v := g.Value(field); v != "" {
				key = append(key, field+" "+v)
			}
		}
		one := q
		one.Groups = []table.Group{g}
		if len(key) > 0 {
			p.heading(strings.Join(key, "  "), count(len(g.Rows), "row"))
		} else {
			p.blank()
		}
		lineTable(p, nil, one.lines())
	}
}

// lineTable writes a line of a table each, with the group's fields first.
func lineTable(p *page, by []string, lines []table.Line) {
	rows := make([][]span, len(lines)+1)
	var right []bool
	column := func(title string, toRight bool, cell func(table.Line) span) {
		rows[0], right = append(rows[0], span{title, dim}), append(right, toRight)
		for i, l := range lines {
			rows[i+1] = append(rows[i+1], cell(l))
		}
	}
	for _, field := range by {
		column(field, false, func(l table.Line) span { return span{valueOf(l.Key, field), plainly} })
	}
	column("metric", false, func(l table.Line) span { return span{l.Metric.Name, plainly} })
	column("n", true, func(l table.Line) span { return span{fmt.Sprint(l.N), dim} })
	for _, x := range []struct {
		title string
		of    func(table.Line) stat.Point
		style style
	}{
		{"p50", func(l table.Line) stat.Point { return l.P50.Point }, bold},
		{"p90", func(l table.Line) stat.Point { return l.P90.Point }, plainly},
		{"p95", func(l table.Line) stat.Point { return l.P95.Point }, plainly},
		{"p99", func(l table.Line) stat.Point { return l.P99.Point }, plainly},
		{"min", func(l table.Line) stat.Point { return l.Min }, plainly},
		{"max", func(l table.Line) stat.Point { return l.Max }, plainly},
	} {
		given := func(l table.Line) bool { return x.of(l).Is != stat.NotGiven }
		if slices.ContainsFunc(lines, given) { // a quantile that no sample is large enough for is no column
			column(x.title, true, func(l table.Line) span { return span{point(x.of(l), l.Metric.Unit), x.style} })
		}
	}
	p.table(0, right, rows)
}

func (q Query) head(p *page) {
	what := fmt.Sprintf("%s of %s", count(q.Rows, "row"), count(q.Runs, "run"))
	if q.Where != "" {
		what += " where " + q.Where
	}
	p.line(span{what, dim})
}

func valueOf(key []table.Pair, field string) string {
	return table.Group{Key: key}.Value(field)
}

// WriteQueryJSON writes one object: definitions, where, by, rows, runs and
// lines, each a group's summary of one metric (see table.Line.Fields).
func WriteQueryJSON(w io.Writer, q Query) error {
	lines := []object{}
	for _, l := range q.lines() {
		lines = append(lines, object{append(slices.Clone(q.By), lineKeys...), l.Fields()})
	}
	return writeJSON(w, object{
		[]string{"definitions", "where", "by", "rows", "runs", "lines"},
		map[string]any{
			"definitions": metric.Version, "where": orNull(q.Where), "by": append([]string{}, q.By...),
			"rows": q.Rows, "runs": q.Runs, "lines": lines,
		},
	})
}

// lineKeys are the keys of a line, in the order for the eyes.
var lineKeys = []string{
	"metric", "unit", "n", "reached", "missing", "left_out", "p50", "p50_is", "p90", "p90_is", "p95", "p95_is", "p99", "p99_is",
	"min", "max", "mean", "stddev",
}

// WriteQueryCSV writes a row per group and metric. Of an interval the ends are
// pNN_lo and pNN_hi; what is not known is empty.
func WriteQueryCSV(w io.Writer, q Query) error {
	out := csv.NewWriter(w)
	head := append(slices.Clone(q.By), lineKeys...)
	ends := []string{"p50", "p90", "p95", "p99"}
	for _, p := range ends {
		head = append(head, p+"_over", p+"_lo", p+"_hi")
	}
	if err := out.Write(head); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, l := range q.lines() {
		fields := l.Fields()
		for _, p := range ends {
			if pair, ok := fields[p+"_interval"].([]any); ok {
				fields[p+"_lo"], fields[p+"_hi"] = pair[0], pair[1]
			}
		}
		var row []string
		for _, k := range head {
			row = append(row, csvCell(fields[k]))
		}
		if err := out.Write(row); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

// WriteRowsText writes a line per row for a person: who it is, how it ended,
// and the metrics that were asked for.
func WriteRowsText(w io.Writer, q Query) error {
	p := newPage(q.View)
	q.head(p)
	var ms []metric.Metric
	for _, name := range q.Names {
		if m, ok := metric.Lookup(name); ok {
			ms = append(ms, m)
		}
	}
	head := []span{{"request", dim}, {"scenario", dim}, {"outcome", dim}}
	right := []bool{false, false, false}
	for _, m := range ms {
		head, right = append(head, span{m.Name, dim}), append(right, true)
	}
	rows := [][]span{head}
	for _, r := range q.rows() {
		row := []span{{r.Request, plainly}, {r.Scenario, plainly}, {outcomeOf(r), plainly}}
		for _, m := range ms {
			row = append(row, span{value(r.Values.Get(m.Name), m.Unit), plainly})
		}
		rows = append(rows, row)
	}
	if q.Rows > 0 {
		p.table(0, right, rows)
	}
	return p.writeTo(w)
}

func outcomeOf(r table.Row) string {
	if r.Reason == "" {
		return string(r.Outcome)
	}
	return string(r.Outcome) + " (" + r.Reason + ")"
}

// WriteRowsJSON writes a row a line, as rows.jsonl of a run directory holds
// them: table.ReadRows reads them back.
func WriteRowsJSON(w io.Writer, rows []table.Row) error {
	for i := range rows {
		var b bytes.Buffer
		if err := table.WriteRows(&b, rows[i:i+1]); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if _, err := w.Write(escapeControls(b.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes one value on one line.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := w.Write(escapeControls(b.Bytes()))
	return err
}
