package rig

import (
	"fmt"
	"slices"
	"strings"

	"weir/judge"
	gen "weir/load"
	"weir/metric"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

// CapacityPoint is one rate of a search: what users lived through at it.
type CapacityPoint struct {
	Rate     float64  `json:"rate_per_s"` // asked for
	Achieved float64  `json:"achieved_rate_per_s"`
	Holds    bool     `json:"holds"`
	Verdict  string   `json:"verdict"`
	Why      []string `json:"why"` // the gates and rules that did not hold, and the instrument's reasons
	Seconds  float64  `json:"seconds"`
	N        int      `json:"n"`
	// Goodput is the requests a second that met, each by itself, the limits of
	// every gate that can be asked of one request.
	Goodput  float64            `json:"goodput_per_s"`
	InFlight int                `json:"peak_in_flight"`
	Outcomes map[string]float64 `json:"outcomes"` // share of each
	Figures  []map[string]any   `json:"figures"`  // ttft, useful and gaps, as in a run's metrics
	Health   string             `json:"health"`
	Run      string             `json:"run"`
}

// curveMetrics are the figures of a curve.
var curveMetrics = []string{"ttft", "ttft_sent", "useful", "complete", "gap_p95", "gap_max", "rate_e2e"}

func pointOf(rate gen.Rate, p *LoadPlan, b *Bench) CapacityPoint {
	x := CapacityPoint{
		Rate: float64(rate), Verdict: b.Verdict.Verdict, Holds: b.Verdict.Verdict == judge.Pass, Why: reasons(b),
		Outcomes: map[string]float64{}, Health: b.Load.Health.Verdict, Run: b.Run.ID,
	}
	rows := figuresOf(b.Rows)
	x.N = len(rows)
	for _, s := range table.Outcomes(rows) {
		x.Outcomes[s.Name] = s.Share
	}
	for _, l := range table.Summarize(table.Group{Rows: rows}, curveMetrics...) {
		if l.N > 0 {
			x.Figures = append(x.Figures, l.Fields())
		}
	}
	for _, ph := range b.Load.Phases {
		x.Seconds, x.Achieved, x.InFlight = ph.Seconds, ph.AchievedRate, ph.PeakInFlight
	}
	if x.Seconds > 0 {
		x.Goodput = float64(good(rows, p)) / x.Seconds
	}
	return x
}

// figuresOf leaves out the warm-up and what failed by this machine's own fault.
func figuresOf(rows []table.Row) []table.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r table.Row) bool {
		return r.Warmup || r.Hop != "" || gen.OwnReason(r.Reason)
	})
}

// reasons says why a rate did not hold.
func reasons(b *Bench) []string {
	out := []string{}
	for _, g := range b.Verdict.Gates {
		if g.Verdict == judge.Pass {
			continue
		}
		where := ""
		if g.Scenario != "" {
			where = g.Scenario + ": "
		}
		text := strings.TrimSpace(where + g.Metric + " " + g.Stat)
		if g.Actual != nil && g.Limit != nil {
			text += fmt.Sprintf(" is %.4g %s, limit %s %.4g", *g.Actual, g.Unit, g.Op, *g.Limit)
		}
		if g.Why != "" {
			text += " (" + g.Why + ")"
		}
		out = append(out, g.Verdict+": "+text)
	}
	for _, r := range b.Verdict.Rules {
		if r.Verdict != judge.Pass {
			out = append(out, fmt.Sprintf("%s: rule %s, %d violations in %d streams", r.Verdict, r.Name, r.Violations, r.Checked))
		}
	}
	if b.Verdict.Verdict == judge.Invalid {
		out = append(b.Load.Health.Reasons, out...)
	}
	return out
}

// good counts the requests that met every limit.
func good(rows []table.Row, p *LoadPlan) int {
	own := p.scenarioGates()
	n := 0
	for i := range rows {
		r := &rows[i]
		if meets(r, p.Gates) && meets(r, own[r.Scenario]) && (r.Outcome.Ended() || r.Outcome == stream.Cancelled && r.Reason == gen.ReasonCancelAfter) {
			n++
		}
	}
	return n
}

// meets reports whether one answer keeps the limits that can be asked of one:
// a quantile's limit is asked of the answer's own value, a share's of whether
// the answer is one of those. Figures of the whole run ask nothing of one.
func meets(r *table.Row, g judge.Gates) bool {
	for name, list := range g {
		for _, c := range list {
			if !meetsOne(r, name, c) {
				return false
			}
		}
	}
	return true
}

func meetsOne(r *table.Row, name string, c judge.Condition) bool {
	wanted := c.Op[0] == '>'
	if slices.Contains(stream.Outcomes(), stream.Outcome(name)) && (c.Stat == "share" || name != "complete") {
		is := string(r.Outcome) == name || name == "complete" && r.Outcome.Ended()
		return is == wanted
	}
	if _, ok := metric.Lookup(name); !ok {
		if _, ok := metric.Lookup(metric.MarkPrefix + name); !ok {
			return true
		}
	}
	v := r.Values.Get(name)
	switch {
	case c.Stat == "":
		return true
	case v.Is == stat.Missing:
		return true // it does not apply to this answer
	case c.Stat == "share":
		return (v.Is == stat.Reached) == wanted
	}
	limit := c.Value
	if c.Unit == "%" {
		limit /= 100
	}
	x, reached := v.Get()
	switch c.Op {
	case "<":
		return reached && x < limit
	case "<=":
		return reached && x <= limit
	case ">":
		return !reached || x > limit
	}
	return !reached || x >= limit
}

// insert puts a point in its place on the curve.
func (c *Capacity) insert(p CapacityPoint) {
	at, _ := slices.BinarySearchFunc(c.Curve, p, func(a, b CapacityPoint) int {
		switch {
		case a.Rate < b.Rate:
			return -1
		case a.Rate > b.Rate:
			return 1
		}
		return 0
	})
	c.Curve = slices.Insert(c.Curve, at, p)
}
