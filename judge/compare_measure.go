package judge

import (
	"math"
	"slices"

	"weir/metric"
	"weir/stat"
)

// FigureVerdict is what the runs bear in one figure. All differences are B − A
// in the figure's unit. A number that cannot be known is null.
type FigureVerdict struct {
	Figure
	Unit   string `json:"unit"`
	Better string `json:"better"` // lower, higher, or "" for a figure that is no quality
	Family bool   `json:"family"` // false: shown beside, indicative only

	A SideFigure `json:"a"`
	B SideFigure `json:"b"`

	U        *float64 `json:"u"`            // pairs of runs in which B is greater, ties as ½
	BGreater *float64 `json:"p_b_greater"`  // U ÷ all pairs: an estimate of P(B > A), ties as ½; 0–1
	P        *float64 `json:"p"`            // Mann–Whitney, two-sided
	PHolm    *float64 `json:"p_holm"`       // adjusted over the family
	Exact    bool     `json:"p_exact"`      // by enumeration; else (over 100 runs) approximate
	Shift    *float64 `json:"shift"`        // Hodges–Lehmann; null where a run's value is never or over
	Relative *float64 `json:"shift_of_a"`   // shift ÷ A's median run
	Margin   *float64 `json:"margin"`       // what a shift must exceed to matter
	Interval *Bounds  `json:"interval"`     // of the shift, 95 %; null below 4 runs a side
	Inner    *Bounds  `json:"interval_90"`  // of the shift, 90 %; inside ± margin is same
	Drawn    *Bounds  `json:"bootstrap_95"` // time-block bootstrap, where the runs are too few to convict

	Verdict string `json:"verdict"` // slower, faster, same, no_evidence
	Leans   string `json:"leans"`   // where nothing can convict: slower, faster, or ""
	Why     string `json:"why"`
}

// Bounds are the two ends of an interval.
type Bounds [2]float64

// SideFigure is one figure of one side's runs.
type SideFigure struct {
	N       int        `json:"n"`       // runs that have the figure, never and over included
	Missing int        `json:"missing"` // runs that do not: too few requests, or it does not apply
	Never   int        `json:"never"`   // of N: never came, or only known to exceed; they rank last, tied
	Median  *float64   `json:"median"`  // of the runs; null where it is never
	Runs    []RunValue `json:"runs"`

	costs []float64 // in the order of worse; +Inf for never
}

// RunValue is the figure of one run.
type RunValue struct {
	Run   string   `json:"run"`
	Value *float64 `json:"value"` // null unless exact
	Is    stat.Is  `json:"is"`    // exact, over, never, na
}

// compared is a figure with what kind of number it is.
type compared struct {
	Figure
	figureKind
}

// cost turns a value into one of which less is better, and back. 0 − x, not −x:
// there is no negative zero to print.
func (c compared) cost(v float64) float64 {
	if c.better == metric.Higher {
		return 0 - v
	}
	return v
}

// side gathers the figure of a side's runs.
func (c compared) side(s Side) SideFigure {
	out := SideFigure{Runs: make([]RunValue, len(s.Runs))}
	for i, r := range s.Runs {
		p := c.of(r)
		out.Runs[i] = RunValue{Run: r.ID, Is: p.Is}
		v, exact := p.Get()
		switch {
		case exact && !math.IsNaN(v) && !math.IsInf(v, 0):
			out.Runs[i].Value = &v
			out.costs = append(out.costs, c.cost(v))
		case p.Is == stat.IsNever || p.Is == stat.OverLow:
			out.Never++
			out.costs = append(out.costs, math.Inf(1))
		default:
			out.Runs[i].Is = stat.NotGiven
			out.Missing++
		}
	}
	out.N = len(out.costs)
	slices.Sort(out.costs)
	if m := c.cost(stat.Median(out.costs)); !math.IsNaN(m) && !math.IsInf(m, 0) {
		out.Median = &m
	}
	return out
}

// measure takes every number of a figure, and gives no verdict yet. With a run
// that lacks the figure there is no test: what is left is a selection.
func (o CompareOptions) measure(c compared, a, b Side) FigureVerdict {
	v := FigureVerdict{
		Figure: c.Figure, Unit: c.unit, Better: directionName(c.better),
		A: c.side(a), B: c.side(b), Verdict: NoEvidence,
	}
	v.Margin = o.margin(c, v.A.Median)
	if v.A.Missing+v.B.Missing > 0 {
		return v
	}
	t, ok := stat.MannWhitney(v.A.costs, v.B.costs)
	if !ok {
		return v
	}
	if c.better == metric.Higher {
		t.U, t.Greater = float64(v.A.N*v.B.N)-t.U, 1-t.Greater
	}
	v.U, v.BGreater, v.P, v.Exact = &t.U, &t.Greater, &t.P, t.Exact
	if s, ok := stat.HodgesLehmann(v.A.costs, v.B.costs, 0.95); ok {
		shift := c.cost(s.Estimate)
		v.Shift, v.Interval = &shift, c.bounds(s)
		if m := v.A.Median; m != nil && *m != 0 {
			part := shift / math.Abs(*m)
			v.Relative = &part
		}
	}
	if s, ok := stat.HodgesLehmann(v.A.costs, v.B.costs, 0.90); ok {
		v.Inner = c.bounds(s)
	}
	return v
}

// bounds is the interval of a shift of costs, turned to the figure's own sign.
func (c compared) bounds(s stat.Shift) *Bounds {
	if !s.Finite {
		return nil
	}
	lo, hi := c.cost(s.Lo), c.cost(s.Hi)
	return &Bounds{min(lo, hi), max(lo, hi)}
}

// margin is what a shift must exceed to matter; nil where A's median run is
// unknown.
func (o CompareOptions) margin(c compared, median *float64) *float64 {
	if median == nil {
		return nil
	}
	part := o.Margin
	if part == 0 {
		part = defaultMargin
	}
	floor, ok := o.Floors[c.unit]
	if !ok {
		floor = defaultFloors[c.unit]
	}
	m := max(part*math.Abs(*median), floor)
	return &m
}

func directionName(d metric.Direction) string {
	switch d {
	case metric.Lower:
		return "lower"
	case metric.Higher:
		return "higher"
	}
	return ""
}
