package report

import (
	"fmt"
	"io"
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

// WriteRunBench writes the run as Go benchmark lines: one line a figure, named
// by scenario, phase, metric and quantile, so that benchstat compares runs (one
// run is one sample: give it several files a side). A quantile that is not
// exactly known is left out. What tells runs apart stands in comments: as
// configuration it would keep benchstat from laying them side by side.
func WriteRunBench(w io.Writer, r Run) error {
	var b strings.Builder
	for _, kv := range [][2]string{
		{"run", r.Info.ID}, {"target", r.target()}, {"model", r.Info.Model}, {"labels", labelText(r.Info.Labels)}, {"instrument", r.Health.Verdict},
	} {
		if kv[1] != "" {
			fmt.Fprintf(&b, "# %s: %s\n", kv[0], Clean(kv[1]))
		}
	}
	b.WriteString("pkg: weir\n")
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

// bench writes the lines of a bucket.
func (b bucket) bench(w *strings.Builder) {
	name := "BenchmarkRun/scenario=" + benchName(b.scenario, "all") + "/phase=" + benchName(b.phase, "all")
	for _, l := range b.lines() {
		for _, q := range []struct {
			name string
			p    stat.Point
		}{{"p50", l.P50.Point}, {"p95", l.P95.Point}, {"p99", l.P99.Point}} {
			if v, ok := q.p.Get(); ok {
				fmt.Fprintf(w, "%s/metric=%s/stat=%s %d %s\n", name, benchName(l.Metric.Name, ""), q.name, l.N, benchFigure(v, l.Metric.Unit))
			}
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
