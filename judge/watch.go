package judge

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"weir/stream"
)

// MaxRequestIDs is how many offending requests a rule keeps by id; the number
// of violations counts all.
const MaxRequestIDs = 20

// RuleResult is what the streams of one scenario bear against one rule. A
// stream counts once, however often it breaks the rule.
type RuleResult struct {
	Name     string `json:"name"`
	Scenario string `json:"scenario"`
	Rule     string `json:"rule"` // in words
	// Checked are the streams that kept or broke the rule. Applied are those of
	// them in which its first name came at all.
	Checked    int      `json:"checked"`
	Applied    int      `json:"applied"`
	Censored   int      `json:"censored"` // beside Checked: we cut them before it was decided
	Violations int      `json:"violations"`
	RequestIDs []string `json:"request_ids"` // of violations, the first in the run
	// Verdict is fail with a violation; undecided where no stream could be
	// checked; else pass, also where the rule never applied (see Unseen).
	Verdict string   `json:"verdict"`
	Unseen  []string `json:"unseen"` // its names that were never seen in the whole run
}

// Watch evaluates the rules of one scenario over its finished streams. It is
// safe for concurrent use.
type Watch struct {
	scenario string
	rules    []watched

	mu   sync.Mutex
	seen [][2]bool // by rule: its first and its second name
	sums []tally
}

// watched is a rule with its names resolved.
type watched struct {
	Rule
	names []matcher
}

// tally is what a rule came to so far.
type tally struct {
	checked, applied, censored, violations int
	ids                                    []offender
}

// offender is a stream that broke a rule.
type offender struct {
	index int // its position in the run
	id    string
}

// NewWatch prepares the rules of a scenario with the names of its marks.
func NewWatch(scenario string, rules []Rule, marks []string) (*Watch, error) {
	w := &Watch{scenario: scenario, seen: make([][2]bool, len(rules)), sums: make([]tally, len(rules))}
	labels := map[string]bool{}
	for _, r := range rules {
		if err := r.Validate(); err != nil {
			return nil, fmt.Errorf("rules%s: %w", ofScenario(scenario), err)
		}
		if labels[r.label()] {
			return nil, fmt.Errorf("rules%s: two are called %q; names tell them apart in every table", ofScenario(scenario), r.label())
		}
		labels[r.label()] = true
		x := watched{Rule: r}
		for _, name := range r.about() {
			x.names = append(x.names, newMatcher(name, marks))
		}
		w.rules = append(w.rules, x)
	}
	return w, nil
}

// See takes a finished stream and keeps nothing of it. Warm-up, other paths
// than the main one and requests that were never sent are not streams to judge.
func (w *Watch) See(r *stream.Record) {
	if r.Hop != "" || r.Labels["warmup"] == "true" || r.Outcome == stream.Dropped {
		return
	}
	for i := range w.rules {
		w.add(i, w.rules[i].judge(r), r)
	}
}

func (w *Watch) add(i int, f finding, r *stream.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, seen := &w.sums[i], &w.seen[i]
	seen[0], seen[1] = seen[0] || f.came[0], seen[1] || f.came[1]
	if f.is == censored {
		t.censored++
		return
	}
	t.checked++
	if f.came[0] {
		t.applied++
	}
	if f.is == broken {
		t.violations++
		t.keep(offender{r.Index, r.RequestID})
	}
}

// keep keeps the first offenders by their position in the run, so that the list
// does not depend on which of them ended first.
func (t *tally) keep(o offender) {
	at, _ := slices.BinarySearchFunc(t.ids, o, func(a, b offender) int {
		if a.index != b.index {
			return a.index - b.index
		}
		return strings.Compare(a.id, b.id)
	})
	t.ids = slices.Insert(t.ids, at, o)
	t.ids = t.ids[:min(len(t.ids), MaxRequestIDs)]
}

// Results are the results so far, in the order of the rules.
func (w *Watch) Results() []RuleResult {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]RuleResult, len(w.rules))
	for i, r := range w.rules {
		out[i] = w.sums[i].result()
		out[i].Name, out[i].Scenario, out[i].Rule = r.label(), w.scenario, r.String()
		for j, name := range r.about() {
			if !w.seen[i][j] {
				out[i].Unseen = append(out[i].Unseen, name)
			}
		}
	}
	return out
}

func (t *tally) result() RuleResult {
	r := RuleResult{
		Checked: t.checked, Applied: t.applied, Censored: t.censored, Violations: t.violations,
		RequestIDs: []string{}, Unseen: []string{}, Verdict: Pass,
	}
	for _, o := range t.ids {
		r.RequestIDs = append(r.RequestIDs, o.id)
	}
	switch {
	case t.violations > 0:
		r.Verdict = Fail
	case t.checked == 0:
		r.Verdict = Undecided
	}
	return r
}
