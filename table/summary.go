package table

import (
	"maps"
	"slices"

	"weir/metric"
	"weir/stat"
	"weir/stream"
)

// Line is the summary of one metric over one group.
type Line struct {
	Key    []Pair
	Metric metric.Metric
	stat.Summary
	// LeftOut counts rows that have a value but are not of the metric's
	// population: the rates of answers that did not end.
	LeftOut int
}

// Summarize summarises metrics over a group: the named ones, or without names
// every metric that has a value, the dynamic ones last. A metric that applies
// to some answers only and was reached by none is left out of the latter.
// Names that are no metric are skipped.
func Summarize(g Group, names ...string) []Line {
	var lines []Line
	for _, m := range chosen(g.Rows, names) {
		l := line(g, m)
		if len(names) == 0 && (l.N == 0 || m.Optional && l.Reached == 0) {
			continue
		}
		lines = append(lines, l)
	}
	return lines
}

// CompleteOnly is the same over complete and gapped answers only: it stands
// beside a headline, labelled so (METRICS §8.2).
func CompleteOnly(g Group, names ...string) []Line {
	rows := slices.DeleteFunc(slices.Clone(g.Rows), func(r Row) bool { return !r.Outcome.Ended() })
	return Summarize(Group{Key: g.Key, Rows: rows}, names...)
}

func chosen(rows []Row, names []string) []metric.Metric {
	if len(names) == 0 {
		return append(slices.Clone(metric.All), dynamic(rows)...)
	}
	var out []metric.Metric
	for _, name := range names {
		if m, ok := metric.Lookup(name); ok {
			out = append(out, m)
		}
	}
	return out
}

// dynamic are the stages and marks that some row has, by name.
func dynamic(rows []Row) []metric.Metric {
	seen := map[string]bool{}
	for i := range rows {
		for _, name := range rows[i].Values.Names() {
			if metric.Dynamic(name) {
				seen[name] = true
			}
		}
	}
	var out []metric.Metric
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if m, ok := metric.Lookup(name); ok {
			out = append(out, m)
		}
	}
	return out
}

func line(g Group, m metric.Metric) Line {
	l := Line{Key: g.Key, Metric: m}
	var samples []stat.Sample
	for i := range g.Rows {
		r := &g.Rows[i]
		x := r.Values.Get(m.Name)
		if m.Basis == metric.Rate && x.Is != stat.Missing && !ended(r.Outcome) {
			l.LeftOut++
			continue
		}
		samples = append(samples, x)
	}
	l.Summary = stat.Summarize(samples)
	return l
}

// ended: a log that does not say how its answers ended leaves none out.
func ended(o stream.Outcome) bool { return o.Ended() || o == stream.Unknown }

// Fields is the line as JSON keys: the group's own fields, metric, unit, n,
// reached, missing, left_out, min, max, mean, stddev, and for each of p50, p90,
// p95, p99, p999 the quantile, its reading (exact, over, never, na) and its
// interval [lo, hi] within the run. A number that is not exactly known is null;
// of an "over" quantile pNN_over is the bound it exceeds.
func (l Line) Fields() map[string]any {
	out := map[string]any{
		"metric": l.Metric.Name, "unit": l.Metric.Unit, "n": l.N, "reached": l.Reached,
		"missing": l.Missing, "left_out": l.LeftOut,
		"min": number(l.Min), "max": number(l.Max), "mean": sample(l.Mean), "stddev": sample(l.StdDev),
	}
	for _, p := range l.Key {
		out[p.Field] = p.Value
	}
	for _, q := range []struct {
		name string
		q    stat.Quantiled
	}{{"p50", l.P50}, {"p90", l.P90}, {"p95", l.P95}, {"p99", l.P99}, {"p999", l.P999}} {
		out[q.name], out[q.name+"_is"] = number(q.q.Point), string(q.q.Is)
		out[q.name+"_interval"] = nil
		if q.q.HasInterval() {
			out[q.name+"_interval"] = []any{number(q.q.Lo), number(q.q.Hi)}
		}
		if q.q.Is == stat.OverLow {
			out[q.name+"_over"] = q.q.V
		}
	}
	return out
}

func number(p stat.Point) any {
	if x, ok := p.Get(); ok {
		return x
	}
	return nil
}

func sample(s stat.Sample) any {
	if x, ok := s.Get(); ok {
		return x
	}
	return nil
}
