package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/metric"
	"weir/stat"
	"weir/table"
)

// scope is the answers a gate looks at.
type scope struct {
	in       *Input
	rows     []*table.Row
	scenario string
	phase    string
}

func (s scope) inPhase(phase string) scope {
	out := scope{in: s.in, scenario: s.scenario, phase: phase}
	for _, r := range s.rows {
		if r.Phase == phase && (s.scenario == "" || r.Scenario == s.scenario) {
			out.rows = append(out.rows, r)
		}
	}
	return out
}

// names are what the rows bear: the marks some answer has a value for, met or
// not. A mark that no row knows of makes its gate undecided.
func (s scope) names() Names {
	marks := map[string]bool{}
	for i := range s.rows {
		if s.scenario != "" && s.rows[i].Scenario != s.scenario {
			continue
		}
		for _, name := range s.rows[i].Values.Names() {
			if mark, ok := strings.CutPrefix(name, metric.MarkPrefix); ok || name == metric.Useful {
				marks[mark] = true
			}
		}
	}
	return Names{Priced: s.in.Prices.given(), Marks: slices.Sorted(maps.Keys(marks))}
}

// reading is a gate's number, or what is known of it.
type reading struct {
	point  stat.Point
	lo, hi stat.Point // its interval; na where there is none
	n      int
	never  int    // of n: failed by themselves or were dropped before it came
	cut    int    // of n: we cut them before it came
	bare   bool   // it ought to have an interval, and the answers are too few
	why    string // what needs saying of it
	unit   string // where it is not the subject's
}

var noInterval = stat.Point{Is: stat.NotGiven}

func (s scope) judge(name string, c Condition, names Names) GateResult {
	r := GateResult{Scenario: s.scenario, Phase: s.phase, Metric: name, Stat: c.Stat, Op: c.Op, Verdict: Undecided}
	sub, err := names.resolve(name, c.Stat)
	if err != nil {
		r.Why = err.Error()
		return r
	}
	r.Metric, r.Stat, r.Unit = sub.shown, sub.figure.Stat, sub.unit
	limit, err := c.in(sub.unit)
	if err != nil {
		r.Why = err.Error()
		return r
	}
	r.Limit = &limit
	x := s.read(sub)
	r.N = x.n
	if x.unit != "" {
		r.Unit = x.unit
	}
	if v, ok := x.point.Get(); ok {
		r.Actual = &v
	}
	if lo, ok := x.lo.Get(); ok {
		if hi, ok := x.hi.Get(); ok {
			r.Interval = &[2]float64{lo, hi}
		}
	}
	r.Verdict, r.Why = x.against(c.Op, limit, r.Unit)
	return r
}

// read takes the number of a gate from the rows.
func (s scope) read(sub subject) reading {
	if sub.whole {
		return s.wholeRun(sub.figure.Metric)
	}
	var samples []stat.Sample
	for i := range s.rows {
		samples = append(samples, sub.sample(s.rows[i]))
	}
	sum := stat.Summarize(samples)
	x := reading{point: sub.figure.point(sum), lo: noInterval, hi: noInterval, n: sum.N, never: sum.Never, cut: sum.Over}
	if sum.N == 0 {
		x.point, x.why = noInterval, s.nothing(sub, len(samples))
		return x
	}
	if sub.part {
		lo, hi := shareInterval(yes(samples), sum.N)
		x.lo, x.hi = stat.Point{V: lo, Is: stat.Exact}, stat.Point{V: hi, Is: stat.Exact}
	}
	if f, ok := figureQuantiles[sub.figure.Stat]; ok {
		x.quantile(sum, f)
	}
	return x
}

// sample is what one answer adds. The share of complete answers is that of the
// outcome, as the table of outcomes shows it: a gapped answer lacks something.
func (s subject) sample(r *table.Row) stat.Sample {
	if s.part && isShareName(s.figure.Metric) {
		return outcomeSample(s.figure.Metric, r)
	}
	return s.figure.sample(r)
}

func yes(samples []stat.Sample) int {
	n := 0
	for _, x := range samples {
		if v, ok := x.Get(); ok && v == 1 {
			n++
		}
	}
	return n
}

// quantile adds the interval of a quantile, or that there is none.
func (x *reading) quantile(s stat.Summary, f stat.Fraction) {
	q := map[stat.Fraction]stat.Quantiled{stat.P50: s.P50, stat.P90: s.P90, stat.P95: s.P95, stat.P99: s.P99}[f]
	x.lo, x.hi, x.bare = q.Lo, q.Hi, !q.HasInterval()
	if x.bare {
		x.why = fmt.Sprintf("too few answers: %d, and the interval of this quantile needs %d", s.N, needed(f))
	}
}

// needed is the least number of values for which a quantile has an interval.
func needed(f stat.Fraction) int {
	n := 1
	for {
		if _, _, ok := stat.Ranks(n, f); ok {
			return n
		}
		n++
	}
}

// nothing says why there is no value at all.
func (s scope) nothing(sub subject, rows int) string {
	if rows == 0 {
		return "no request" + s.where()
	}
	return fmt.Sprintf("%s is known of none of %s%s", sub.shown, counted(rows, "answer"), s.where())
}

func (s scope) where() string {
	out := ofScenario(s.scenario)
	if s.phase != "" {
		out += " in phase " + s.phase
	}
	return out
}

// against holds the reading to the limit. What is not clearly kept is failed;
// only what has no number to hold, or no interval, is undecided.
func (x reading) against(op string, limit float64, unit string) (verdict, why string) {
	v := x.point.V
	switch {
	case x.bare || x.point.Is == stat.NotGiven:
		return Undecided, x.why
	case x.point.Is == stat.IsNever:
		return Fail, also(fmt.Sprintf("it never came in %d of %s, so that it has no value here", x.never, counted(x.n, "answer")), x.why)
	case x.point.Is == stat.OverLow && op[0] == '>' && v >= limit:
		return Pass, also(fmt.Sprintf("it exceeds %s", quantity(v, unit)), x.why)
	case x.point.Is == stat.OverLow:
		return Fail, also(fmt.Sprintf("it is only known to exceed %s: %d of %s were cut before it came", quantity(v, unit), x.cut, counted(x.n, "stream")), x.why)
	case !keeps(v, op, limit):
		return Fail, also(fmt.Sprintf("%s is not %s %s", quantity(v, unit), op, quantity(limit, unit)), x.why)
	}
	return Pass, x.why
}

func also(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

func keeps(v float64, op string, limit float64) bool {
	switch op {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	case ">=":
		return v >= limit
	}
	return false
}
