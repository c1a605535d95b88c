package judge

import (
	"fmt"
	"maps"
	"slices"

	"weir/table"
)

// The verdicts on a run, a gate and a rule.
const (
	Pass      = "pass"
	Fail      = "fail"
	Undecided = "undecided" // not passed, unless the plan allows it
	Invalid   = "invalid"   // of a run: the instrument was not fit
)

// Input is what a verdict is made of.
type Input struct {
	// Rows are the answers of the run. Warm-up, other paths than the main one and
	// requests that failed for want of something of our own are left out.
	Rows          []table.Row
	Gates         Gates            // over all scenarios
	ScenarioGates map[string]Gates // by scenario
	Rules         []RuleResult
	Prices        Prices
	Health        string // verdict on the instrument; "invalid" makes the run so
	// AllowUndecided lets a run pass in which something could not be decided.
	AllowUndecided bool
	// Span is how long each phase was measured, in seconds, by its name; a run
	// without phases has one of the name "". Gates apply to each.
	Span map[string]float64
}

// Verdict is what a run bears against its gates and rules.
type Verdict struct {
	Verdict  string       `json:"verdict"` // pass, fail, undecided, invalid
	Gates    []GateResult `json:"gates"`   // those over all first, then by scenario, metric and phase
	Rules    []RuleResult `json:"rules"`
	Warnings []string     `json:"warnings"` // names in rules that were never seen, gates the wrong way round
}

// GateResult is one gate in one phase.
type GateResult struct {
	Scenario string   `json:"scenario"` // "" = over all
	Phase    string   `json:"phase"`
	Metric   string   `json:"metric"`
	Stat     string   `json:"stat"` // "" of a figure of the whole run
	Op       string   `json:"op"`
	Limit    *float64 `json:"limit"`  // in Unit
	Actual   *float64 `json:"actual"` // null where it is not exactly known: Why says what is
	// Interval is the 95 % interval within the run, which assumes independent
	// requests: of a quantile by order statistics, of a share exact binomial. null
	// where there is none, or an end of it is not known.
	Interval *[2]float64 `json:"interval"`
	Unit     string      `json:"unit"`
	N        int         `json:"n"` // answers (of tokens, cost, calls and rate: requests) it rests on
	Verdict  string      `json:"verdict"`
	Why      string      `json:"why"` // of what did not pass, or needs saying
}

// Judge gives the verdict on a run. The gates should have passed Gates.Check;
// one that does not make sense is undecided and says why.
func Judge(in Input) Verdict {
	v := Verdict{Gates: []GateResult{}, Rules: append([]RuleResult{}, in.Rules...), Warnings: []string{}}
	rows := admitted(in.Rows)
	phases := phasesOf(rows, in.Span)
	v.add(in.Gates, scope{in: &in, rows: rows}, phases)
	for _, name := range slices.Sorted(maps.Keys(in.ScenarioGates)) {
		v.add(in.ScenarioGates[name], scope{in: &in, rows: rows, scenario: name}, phases)
	}
	for _, r := range v.Rules {
		for _, name := range r.Unseen {
			v.Warnings = append(v.Warnings, fmt.Sprintf("rule %q%s: nothing called %q was seen in the whole run, so the rule says little", r.Name, ofScenario(r.Scenario), name))
		}
	}
	v.Verdict = v.overall(in)
	return v
}

// add judges gates in every phase they apply to.
func (v *Verdict) add(g Gates, s scope, phases []string) {
	names := s.names()
	for _, w := range g.Warnings(names) {
		v.Warnings = append(v.Warnings, w+ofScenario(s.scenario))
	}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		for _, c := range g[name] {
			in := phases
			if c.Phase != "" {
				in = []string{c.Phase}
			}
			for _, phase := range in {
				v.Gates = append(v.Gates, s.inPhase(phase).judge(name, c, names))
			}
		}
	}
}

func ofScenario(name string) string {
	if name == "" {
		return ""
	}
	return " of scenario " + name
}

func (v Verdict) overall(in Input) string {
	count := map[string]int{}
	for _, g := range v.Gates {
		count[g.Verdict]++
	}
	for _, r := range v.Rules {
		count[r.Verdict]++
	}
	switch {
	case in.Health == Invalid:
		return Invalid
	case count[Fail] > 0:
		return Fail
	case count[Undecided] > 0 && !in.AllowUndecided:
		return Undecided
	}
	return Pass
}

// ownReasons are the reasons of requests that say something of the machine weir
// runs on: outside every set, and the run is invalid for them (METRICS §8.2).
var ownReasons = []string{"no_descriptor", "no_local_port"}

// measured reports whether a row belongs to the figures.
func measured(r *table.Row) bool {
	return r.Hop == "" && !r.Warmup && !slices.Contains(ownReasons, r.Reason)
}

// phasesOf lists the phases in the order in which they first had a request,
// then those that had none.
func phasesOf(rows []*table.Row, span map[string]float64) []string {
	var out []string
	for i := range rows {
		if p := rows[i].Phase; !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(span)) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}
