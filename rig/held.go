package rig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/config"
	"weir/judge"
	"weir/metric"
	"weir/table"
)

// Held is what a run was held to, as it is kept with the run: the plan's text
// would need the variables and the files that it was read with.
type Held struct {
	Gates          judge.Gates            `yaml:"gates"`
	Scenarios      map[string]judge.Gates `yaml:"scenarios"`
	Marks          map[string][]string    `yaml:"marks"` // by scenario
	Prices         *judge.Prices          `yaml:"prices"`
	AllowUndecided bool                   `yaml:"allow_undecided"`
}

// limit is a condition with its phase.
type limit struct {
	Limit judge.Condition `json:"limit"`
	Phase string          `json:"phase,omitempty"`
}

// held is Held in JSON, in the form that ReadHeld takes.
func (p *LoadPlan) held() json.RawMessage {
	scenarios, marks := map[string]any{}, map[string][]string{}
	for _, s := range p.Scenarios {
		if len(s.Gates) > 0 {
			scenarios[s.Name] = limits(s.Gates)
		}
		if len(s.Marks) > 0 {
			marks[s.Name] = s.markNames()
		}
	}
	out := map[string]any{"gates": limits(p.Gates), "scenarios": scenarios, "marks": marks, "allow_undecided": p.AllowUndecided}
	if x := p.Prices; x != nil {
		prices := map[string]any{"input": x.Input, "output": x.Output, "tools": x.Tools, "currency": x.Currency}
		if x.Cached != nil {
			prices["cached"] = *x.Cached
		}
		if x.Tools == nil {
			delete(prices, "tools")
		}
		out["prices"] = prices
	}
	return object(out)
}

func limits(g judge.Gates) map[string][]limit {
	out := map[string][]limit{}
	for name, list := range g {
		for _, c := range list {
			out[name] = append(out[name], limit{c, c.Phase})
		}
	}
	return out
}

// ReadHeld reads what a run was held to; nothing where it does not say.
func ReadHeld(r table.Run) (h Held, err error) {
	if len(r.Held) == 0 {
		return h, nil
	}
	text := strings.ReplaceAll(string(r.Held), "${", "$${") // nothing is a variable any more
	if err := config.Decode("held", []byte(text), &h); err != nil {
		return h, fmt.Errorf("run %s: what it was held to cannot be read: %w", r.ID, err)
	}
	return h, nil
}

// names are what gates of a scenario may name; of all with "".
func (h Held) names(scenario string) judge.Names {
	n := judge.Names{Priced: h.Prices != nil}
	for s, marks := range h.Marks {
		if scenario == "" || s == scenario {
			n.Marks = append(n.Marks, marks...)
		}
	}
	return n
}

// family are the gated figures, and which way each gets better: as its gate
// asks.
func (h Held) family() (figures []judge.Figure, better map[judge.Figure]metric.Direction) {
	better = map[judge.Figure]metric.Direction{}
	add := func(scenario string, g judge.Gates) {
		for _, name := range slices.Sorted(maps.Keys(g)) {
			for _, c := range g[name] {
				way := metric.Higher
				if strings.HasPrefix(c.Op, "<") {
					way = metric.Lower
				}
				for _, f := range (judge.Gates{name: {c}}).Figures(scenario, h.names(scenario)) {
					if _, there := better[f]; !there {
						figures, better[f] = append(figures, f), way
					}
				}
			}
		}
	}
	add("", h.Gates)
	for _, s := range slices.Sorted(maps.Keys(h.Scenarios)) {
		add(s, h.Scenarios[s])
	}
	return figures, better
}

// input is what judge needs beside rows, rules and health.
func (h Held) input() judge.Input {
	in := judge.Input{Gates: h.Gates, ScenarioGates: h.Scenarios, AllowUndecided: h.AllowUndecided}
	if h.Prices != nil {
		in.Prices = *h.Prices
	}
	return in
}
