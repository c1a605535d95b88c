package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"weir/stat"
	"weir/table"
)

// benchUnits are the units of the figures of a benchmark line. benchstat knows
// ns and B by themselves; the others are named with their direction.
var benchUnits = []string{
	"Unit tok/s better=higher", "Unit char/s better=higher", "Unit complete-share better=higher",
	"Unit dropped-share better=lower", "Unit stall-share better=lower",
}

// WriteRunBench writes the run as Go benchmark lines: one line a scenario and
// phase, with the quantiles of each metric as figures of their own benchmark,
// so that benchstat compares runs (one run is one sample: give it several
// files a side). A quantile that is not exactly known is left out.
func WriteRunBench(w io.Writer, r Run) error {
	var b strings.Builder
	b.WriteString("goos: none\ngoarch: none\n")
	for _, kv := range r.benchConfig() {
		fmt.Fprintf(&b, "%s: %s\n", kv[0], kv[1])
	}
	for _, u := range benchUnits {
		b.WriteString(u + "\n")
	}
	list, err := r.buckets()
	if err != nil {
		return err
	}
	for _, k := range list {
		k.bench(&b)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// benchConfig is the configuration lines: keys of lower-case letters.
func (r Run) benchConfig() [][2]string {
	out := [][2]string{{"pkg", "weir"}, {"target", r.target()}, {"run", r.Info.ID}, {"model", r.Info.Model}, {"health", r.Health.Verdict}}
	for _, k := range slices.Sorted(maps.Keys(r.Info.Labels)) {
		out = append(out, [2]string{"label-" + benchKey(k), r.Info.Labels[k]})
	}
	for i := range out {
		out[i][1] = Clean(out[i][1])
	}
	return slices.DeleteFunc(out, func(kv [2]string) bool { return kv[1] == "" })
}

func benchKey(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLower(c) || unicode.IsDigit(c) {
			return c
		}
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return '-'
	}, s)
}

// bench writes the lines of a bucket.
func (b bucket) bench(w *strings.Builder) {
	name := "Benchmark"
	for _, part := range []struct{ key, value string }{{"Scenario", b.scenario}, {"phase=", b.phase}} {
		if part.key == "Scenario" {
			name += benchName(strings.ToUpper(part.value[:min(1, len(part.value))])+part.value[min(1, len(part.value)):], "All")
		} else if part.value != "" {
			name += "/" + part.key + benchName(part.value, "all")
		}
	}
	for _, l := range b.lines() {
		for _, q := range []struct {
			name string
			p    stat.Point
		}{{"p50", l.P50.Point}, {"p95", l.P95.Point}, {"p99", l.P99.Point}} {
			v, ok := q.p.Get()
			if !ok {
				continue
			}
			fmt.Fprintf(w, "%s/metric=%s/stat=%s %d %s\n", name, benchName(l.Metric.Name, ""), q.name, l.N, benchFigure(v, l.Metric.Unit))
		}
	}
	for _, x := range table.Outcomes(b.Rows) {
		if x.Name == "complete" || x.Name == "dropped" {
			fmt.Fprintf(w, "%s/metric=%s/stat=share %d %s %s-share\n", name, x.Name, x.Of, plainNumber(x.Share), x.Name)
		}
	}
}

func benchFigure(v float64, unit string) string {
	switch unit {
	case "ms":
		return plainNumber(v*1e6) + " ns/op"
	case "share":
		return plainNumber(v) + " stall-share"
	case "":
		return plainNumber(v) + " value"
	}
	return plainNumber(v) + " " + unit
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }

// benchName is foreign text as part of a benchmark's name: no blank, no slash,
// no separator of keys, nothing that ends in -N as a processor count does.
func benchName(s, none string) string {
	if s == "" {
		return none
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || strings.ContainsRune("/=-*\"", c) || !unicode.IsPrint(c) {
			return '_'
		}
		return c
	}, Clean(s))
}
