package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/judge"
)

// verdictLine is the run in one line: the verdict and the figures that made it.
func (r Run) verdictLine() (word, why string) {
	word = strings.ToUpper(r.Judged.Verdict)
	gates := r.failing()
	broken := r.brokenRules()
	asked := len(r.Judged.Gates) + len(r.Judged.Rules)
	switch {
	case word == "INVALID":
		return word, "the instrument was not fit, so nothing is decided" + prefixed(": ", strings.Join(r.Health.Reasons, "; "))
	case word == "" || asked == 0:
		return cmp.Or(word, "NO VERDICT"), "no gates were set: " + r.tally()
	case len(gates)+len(broken) > 0:
		return word, r.failure(gates, broken)
	}
	return word, passed(len(r.Judged.Gates), len(r.Judged.Rules))
}

func passed(gates, rules int) string {
	var parts []string
	if gates > 0 {
		parts = append(parts, count(gates, "gate"))
	}
	if rules > 0 {
		parts = append(parts, count(rules, "rule"))
	}
	return "all held: " + strings.Join(parts, ", ")
}

func (r Run) failure(gates []judge.GateResult, broken []judge.RuleResult) string {
	var parts []string
	if len(gates) > 0 {
		failed := 0
		for _, g := range gates {
			if g.Verdict == "fail" {
				failed++
			}
		}
		how := ofAll(failed, len(r.Judged.Gates), "gate", "failed")
		if failed == 0 {
			how = ofAll(len(gates), len(r.Judged.Gates), "gate", "undecided")
		}
		parts = append(parts, how+": "+gateFinding(gates[0]))
	}
	if len(broken) > 0 {
		worst := broken[0]
		parts = append(parts, fmt.Sprintf("%s: %s, %s", ofAll(len(broken), len(r.Judged.Rules), "rule", "broken"),
			worst.Name, count(worst.Violations, "violation")))
	}
	return strings.Join(parts, "; ")
}

func ofAll(n, of int, noun, what string) string {
	return fmt.Sprintf("%d of %s %s", n, count(of, noun), what)
}

// failing are the gates that did not pass, worst first: failed before
// undecided, then by how many times the limit was missed.
func (r Run) failing() []judge.GateResult {
	var out []judge.GateResult
	for _, g := range r.Judged.Gates {
		if g.Verdict != "pass" {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b judge.GateResult) int {
		return cmp.Or(cmp.Compare(gateRank(a), gateRank(b)), cmp.Compare(missedBy(b), missedBy(a)))
	})
	return out
}

func gateRank(g judge.GateResult) int { return slices.Index([]string{"fail", "undecided"}, g.Verdict) }

// missedBy is how many times the limit was missed; what never came missed it
// without end.
func missedBy(g judge.GateResult) float64 {
	if g.Limit == nil || g.Actual == nil {
		return math.Inf(1)
	}
	a, b := math.Abs(*g.Actual), math.Abs(*g.Limit)
	if low := min(a, b); low > 0 {
		return max(a, b) / low
	}
	return math.Inf(1)
}

// brokenRules are the rules that did not hold, most violations first.
func (r Run) brokenRules() []judge.RuleResult {
	var out []judge.RuleResult
	for _, x := range r.Judged.Rules {
		if x.Verdict == "fail" || x.Violations > 0 {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b judge.RuleResult) int { return cmp.Compare(b.Violations, a.Violations) })
	return out
}

// gateText is the gate as it was asked: "ttft p95 < 2 s".
func gateText(g judge.GateResult) string {
	limit := notKnown
	if g.Limit != nil {
		limit = Figure(*g.Limit, g.Unit)
	}
	return strings.Join(strings.Fields(g.Metric+" "+g.Stat+" "+g.Op+" "+limit), " ")
}

// gatePlace is where the gate was asked: "plain_qa in peak".
func gatePlace(g judge.GateResult) string {
	b := bucket{scenario: g.Scenario, phase: g.Phase}
	return b.name()
}

// gateActual is what was measured. A gate that failed without a value is one
// whose value never came, or is only known to exceed something.
func gateActual(g judge.GateResult) string {
	switch {
	case g.Actual != nil:
		return Figure(*g.Actual, g.Unit)
	case g.Verdict == judge.Fail:
		return "not reached"
	}
	return notKnown
}

// gateWhy is what the line of a gate does not say by itself.
func gateWhy(g judge.GateResult) string {
	if g.Verdict == judge.Fail && g.Actual != nil {
		return ""
	}
	return g.Why
}

func gateInterval(g judge.GateResult) string {
	if g.Interval == nil {
		return notKnown
	}
	return between(Figure(g.Interval[0], g.Unit), Figure(g.Interval[1], g.Unit))
}

// between shows two ends with their unit once.
func between(low, high string) string {
	if i := strings.IndexByte(high, ' '); i > 0 && strings.HasSuffix(low, high[i:]) {
		low = strings.TrimSuffix(low, high[i:])
	}
	return low + " to " + high
}

// gateFinding is a gate with what came of it: "ttft p95 1.42 s, not < 800 ms (plain_qa in peak)".
func gateFinding(g judge.GateResult) string {
	limit := notKnown
	if g.Limit != nil {
		limit = Figure(*g.Limit, g.Unit)
	}
	name := strings.TrimSpace(g.Metric + " " + g.Stat)
	text := fmt.Sprintf("%s %s %s %s", name, gateActual(g), opposite(g.Op), limit)
	if g.Verdict != "fail" || g.Actual == nil {
		text = gateText(g) + prefixed(": ", g.Why)
	}
	return text + " (" + gatePlace(g) + ")"
}

// opposite is what held instead of a gate's comparison.
func opposite(op string) string {
	switch op {
	case "<":
		return ">="
	case "<=":
		return ">"
	case ">":
		return "<="
	case ">=":
		return "<"
	}
	return "not " + op
}

// tally is the run in figures where nothing was judged.
func (r Run) tally() string {
	rows := r.rows()
	text := count(len(rows), "request")
	for _, x := range outcomesOf(rows) {
		text += fmt.Sprintf(", %s %s", percent(x.Share), x.Name)
	}
	return text
}
