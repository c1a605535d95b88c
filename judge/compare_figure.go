package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"weir/metric"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

// Figure names one number of a run, in which two sides are compared.
type Figure struct {
	Metric string `json:"metric"` // of metric.All, stage.NAME, mark.NAME, an outcome, broken_share, silent_share_10s, or of the whole run: rate …
	// Stat is p50, p90, p95, p99, max, mean or share; "" for a figure of the
	// whole run. The share of a metric is that of the answers that reached it.
	Stat     string `json:"stat,omitempty"`
	Scenario string `json:"scenario,omitempty"` // "" = all
	Phase    string `json:"phase,omitempty"`    // "" = all
}

// String is the figure in words: "ttft p95", "ttft p95 of plain_qa in peak".
func (f Figure) String() string {
	s := strings.TrimSpace(f.Metric + " " + f.Stat)
	if f.Scenario != "" {
		s += " of " + f.Scenario
	}
	if f.Phase != "" {
		s += " in " + f.Phase
	}
	return s
}

// Headline is the family of a comparison in which nothing is gated. gap_p95 is
// that of the median answer.
var Headline = []Figure{
	{Metric: "ttft", Stat: "p50"}, {Metric: "ttft", Stat: "p95"},
	{Metric: "gap_p95", Stat: "p50"}, {Metric: "complete", Stat: "share"},
}

// alongside is what is shown beside the family, where runs have it.
var alongside = []Figure{
	{Metric: "first_text", Stat: "p50"}, {Metric: "first_text", Stat: "p95"},
	{Metric: "useful", Stat: "p50"}, {Metric: "useful", Stat: "p95"},
	{Metric: "complete", Stat: "p50"}, {Metric: "complete", Stat: "p95"},
	{Metric: "rate_e2e", Stat: "p50"}, {Metric: "rate_decode", Stat: "p50"},
	{Metric: "stall_rate", Stat: "mean"}, {Metric: "fluidity_index", Stat: "p50"},
	{Metric: "broken_share", Stat: "share"}, {Metric: "silent_share_10s", Stat: "share"},
}

// figureKind is what kind of number a figure is.
type figureKind struct {
	unit   string
	better metric.Direction
}

// wholeRunFigures are the figures that no single answer has. Their values come with
// the run (RunFigures.Figures), never from its rows.
var wholeRunFigures = map[string]figureKind{
	"rate":                   {"1/s", metric.Higher},
	"system_tps":             {"tok/s", metric.Higher},
	"tokens_per_request":     {"tokens", metric.Lower},
	"cost_per_request":       {"", metric.Lower},
	"tool_calls_per_request": {"count", metric.Lower},
}

// rowShares are the shares that are not of a metric.
var rowShares = map[string]func([]table.Row) table.Share{
	"broken_share":     table.Broken,
	"silent_share_10s": table.Silent,
}

// figureQuantiles are the stats that are a quantile.
var figureQuantiles = map[string]stat.Fraction{"p50": stat.P50, "p90": stat.P90, "p95": stat.P95, "p99": stat.P99}

// kind describes the figure, or says what is wrong with its name.
func (f Figure) kind() (figureKind, error) {
	if q, ok := wholeRunFigures[f.Metric]; ok {
		if f.Stat != "" {
			return q, fmt.Errorf("figure %q: %s is a number of the whole run and has no %s", f, f.Metric, f.Stat)
		}
		return q, nil
	}
	m, isMetric := metric.Lookup(f.Metric)
	_, isQuantile := figureQuantiles[f.Stat]
	switch {
	case f.Stat == "share" && isMetric:
		return figureKind{"share", metric.Higher}, nil
	case f.Stat == "share" && (rowShares[f.Metric] != nil || isOutcomeName(f.Metric)):
		return figureKind{"share", metric.Lower}, nil
	case f.Stat == "share":
		return figureKind{}, fmt.Errorf("figure %q: %q is neither a metric nor an outcome nor broken_share nor silent_share_10s", f, f.Metric)
	case !isQuantile && f.Stat != "max" && f.Stat != "mean":
		return figureKind{}, fmt.Errorf("figure %q: stat %q is not one of p50, p90, p95, p99, max, mean, share", f, f.Stat)
	case !isMetric:
		return figureKind{}, fmt.Errorf("figure %q: there is no metric %q", f, f.Metric)
	}
	return figureKind{m.Unit, m.Better}, nil
}

func isOutcomeName(name string) bool { return slices.Contains(stream.Outcomes(), stream.Outcome(name)) }

// of is the figure of one run: what was given with it, else from its rows.
func (f Figure) of(r RunFigures) stat.Point {
	if p, ok := r.Figures[f]; ok {
		return p
	}
	var samples []stat.Sample
	for i := range r.Rows {
		if f.covers(&r.Rows[i]) {
			samples = append(samples, f.sample(&r.Rows[i]))
		}
	}
	return f.point(stat.Summarize(samples))
}

// covers reports whether the row belongs to the figure's scenario and phase.
// Warm-up and other paths than the main one never do.
func (f Figure) covers(r *table.Row) bool {
	return r.Hop == "" && r.Labels["warmup"] != "true" &&
		(f.Scenario == "" || r.Scenario == f.Scenario) && (f.Phase == "" || r.Labels["phase"] == f.Phase)
}

// sample is what one answer adds to the figure. Of a share that is 1 or 0.
func (f Figure) sample(r *table.Row) stat.Sample {
	m, isMetric := metric.Lookup(f.Metric)
	if !isMetric && (rowShares[f.Metric] != nil || isOutcomeName(f.Metric)) {
		return outcomeSample(f.Metric, r)
	}
	x := r.Values.Get(f.Metric)
	if m.Basis == metric.Rate && !r.Outcome.Ended() && r.Outcome != stream.Unknown {
		return stat.Sample{} // rates are of answers that ended
	}
	if f.Stat != "share" || x.Is == stat.Missing {
		return x
	}
	return yesNo(x.Is == stat.Reached)
}

func outcomeSample(name string, r *table.Row) stat.Sample {
	share, ok := rowShares[name]
	if !ok {
		return yesNo(r.Outcome == stream.Outcome(name))
	}
	s := share([]table.Row{*r})
	if s.Of == 0 {
		return stat.Sample{}
	}
	return yesNo(s.N > 0)
}

func yesNo(yes bool) stat.Sample {
	if yes {
		return stat.At(1)
	}
	return stat.At(0)
}

// point reads the figure off the summary of its samples. A mean over answers
// of which one never came has no size either.
func (f Figure) point(s stat.Summary) stat.Point {
	switch f.Stat {
	case "p50":
		return s.P50.Point
	case "p90":
		return s.P90.Point
	case "p95":
		return s.P95.Point
	case "p99":
		return s.P99.Point
	case "max":
		return s.Max
	}
	v, ok := s.Mean.Get()
	switch {
	case s.Never > 0:
		return stat.Point{Is: stat.IsNever}
	case s.Over > 0 && ok:
		return stat.Point{V: v, Is: stat.OverLow}
	case !ok:
		return stat.Point{Is: stat.NotGiven}
	}
	return stat.Point{V: v, Is: stat.Exact}
}

// blocks cuts one run's samples for the bootstrap; false where the run is too
// short or does not say when its requests began.
func (f Figure) blocks(r RunFigures) (stat.Blocks, bool) {
	var run []stat.Timed
	var start time.Time // of whichever row comes first; only differences matter
	for i := range r.Rows {
		row := &r.Rows[i]
		if !f.covers(row) || row.Start.IsZero() {
			continue
		}
		if start.IsZero() {
			start = row.Start
		}
		x := stat.Timed{At: row.Start.Sub(start)}
		switch s := f.sample(row); s.Is {
		case stat.Missing:
			continue
		case stat.Reached:
			x.V = s.V
		default:
			x.V = math.Inf(1)
		}
		run = append(run, x)
	}
	return stat.CutBlocks(run)
}

// fold is the figure of sorted samples, for the bootstrap; NaN of none.
func (f Figure) fold(sorted []float64) float64 {
	q, isQuantile := figureQuantiles[f.Stat]
	switch {
	case len(sorted) == 0:
		return math.NaN()
	case isQuantile:
		v, _ := stat.Quantile(sorted, q)
		return v
	case f.Stat == "max":
		return sorted[len(sorted)-1]
	}
	return stat.Mean(sorted).V
}
