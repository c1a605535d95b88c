package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/metric"
	"weir/table"
)

// RunListFormat is one way to write a list of runs.
type RunListFormat struct {
	Name  string
	Write func(io.Writer, []table.Run, View) error
}

// RunListFormats lists every format.
var RunListFormats = []RunListFormat{
	{"text", WriteRunList},
	{"json", func(w io.Writer, runs []table.Run, _ View) error { return writeJSON(w, append([]table.Run{}, runs...)) }},
	{"csv", func(w io.Writer, runs []table.Run, _ View) error { return writeRunListCSV(w, runs) }},
}

// runColumns are the columns of a list of runs.
var runColumns = []string{"run", "start", "kind", "verdict", "health", "rows", "tags", "target", "model"}

func runCells(r table.Run) []string {
	start := ""
	if !r.Start.IsZero() {
		start = r.Start.UTC().Format(time.RFC3339)
	}
	kind := r.Kind
	if r.Partial {
		kind += " (partial)"
	}
	return []string{r.ID, start, kind, r.Decision(), r.Fitness(), strconv.Itoa(r.Rows), strings.Join(r.Tags, " "), r.Target, r.Model}
}

// WriteRunList writes a line a run for a person.
func WriteRunList(w io.Writer, runs []table.Run, v View) error {
	p := newPage(v)
	if len(runs) == 0 {
		p.line(span{"no runs", dim})
		return p.writeTo(w)
	}
	right := make([]bool, len(runColumns))
	right[slices.Index(runColumns, "rows")] = true
	rows := [][]span{nil}
	for _, title := range runColumns {
		rows[0] = append(rows[0], span{title, dim})
	}
	for _, r := range runs {
		var row []span
		for _, c := range runCells(r) {
			row = append(row, span{c, plainly})
		}
		row[3].style, row[4].style = verdictStyle(row[3].text), verdictStyle(row[4].text)
		rows = append(rows, row)
	}
	p.table(0, right, rows)
	return p.writeTo(w)
}

func writeRunListCSV(w io.Writer, runs []table.Run) error {
	out := csv.NewWriter(w)
	rows := [][]string{runColumns}
	for _, r := range runs {
		cells := runCells(r)
		for i := range cells {
			cells[i] = csvCell(cells[i])
		}
		rows = append(rows, cells)
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// WriteRunFacts writes what is known of one run for a person, its plan last.
// What was measured is for WriteRunText.
func WriteRunFacts(w io.Writer, r table.Run, v View) error {
	p := newPage(v)
	rows := [][]span{}
	fact := func(name, text string) {
		if text != "" {
			rows = append(rows, []span{{name, dim}, {text, plainly}})
		}
	}
	for i, c := range runCells(r) {
		fact(runColumns[i], c)
	}
	fact("dialect", r.Dialect)
	fact("seed", strconv.FormatUint(r.Seed, 10))
	fact("shard", r.Shard)
	fact("labels", pairsOf(r.Labels))
	fact("weir", r.Weir)
	fact("definitions", definitionsOf(r.Definitions))
	for _, k := range slices.Sorted(maps.Keys(r.Environment)) {
		fact("environment", k+" "+r.Environment[k])
	}
	p.table(0, []bool{false, false}, rows)
	if r.Plan != "" {
		p.blank()
		for line := range strings.Lines(r.Plan) {
			p.line(span{"  " + strings.TrimRight(line, "\r\n"), plainly})
		}
	}
	return p.writeTo(w)
}

func definitionsOf(version int) string {
	switch version {
	case 0:
		return ""
	case metric.Version:
		return strconv.Itoa(version)
	}
	return fmt.Sprintf("%d: this weir measures by %d, so figures of the same name may mean another thing", version, metric.Version)
}

func pairsOf(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}

// WriteRunFactsJSON writes a run as one JSON object.
func WriteRunFactsJSON(w io.Writer, r table.Run) error { return writeJSON(w, r) }
