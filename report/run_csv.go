package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/metric"
	"weir/table"
)

// csvFacts are the columns before the metrics.
var csvFacts = []string{
	"request", "run", "index", "choice", "phase", "scenario", "warmup", "conn", "hop", "start", "target", "dialect", "model",
	"http", "stamp", "in_flight", "outcome", "reason", "finish", "labels", "shape", "token_source",
}

// WriteRunCSV writes one row a request, warm-up included and marked so, with
// every metric under its JSON key. What is not known is empty; a latency that
// never came or is only known to exceed a bound is empty too, with the state in
// the column ttft_is. Text that a spreadsheet would run as a formula gets an
// apostrophe before it.
func WriteRunCSV(w io.Writer, r Run) error {
	out := csv.NewWriter(w)
	keys := r.csvKeys()
	if err := out.Write(append(append(append([]string{}, csvFacts...), "ttft_is"), keys...)); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for i := range r.Rows {
		x := &r.Rows[i]
		fields := rowFields(x)
		row := make([]string, 0, len(csvFacts)+1+len(keys))
		for _, k := range csvFacts {
			row = append(row, csvCell(fields[k]))
		}
		row = append(row, x.Values.Get("ttft").Is.String())
		for _, k := range keys {
			row = append(row, csvCell(fields[k]))
		}
		if err := out.Write(row); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

// csvKeys are the keys of every metric, then of the marks and stages of any row.
func (r Run) csvKeys() []string {
	var fixed, found []string
	for _, m := range metric.All {
		fixed = append(fixed, m.JSON)
	}
	for i := range r.Rows {
		for _, k := range dynamicKeys(&r.Rows[i]) {
			if !slices.Contains(found, k) {
				found = append(found, k)
			}
		}
	}
	slices.Sort(found)
	return append(fixed, found...)
}

func dynamicKeys(x *table.Row) []string {
	var out []string
	for _, n := range x.Values.Names() {
		if metric.Dynamic(n) {
			if m, ok := metric.Lookup(n); ok {
				out = append(out, m.JSON)
			}
		}
	}
	return out
}

// csvCell writes one cell.
func csvCell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return csvText(v)
	}
	return csvText(fmt.Sprint(v))
}

// csvText is foreign text as a spreadsheet may open it: control characters
// shown, and nothing that it takes for the beginning of a formula.
func csvText(s string) string {
	s = Clean(s)
	if s != "" && strings.IndexByte("=+-@|", (strings.TrimLeft(s, " ") + " ")[0]) >= 0 && !isNumber(s) {
		return "'" + s
	}
	return s
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}
