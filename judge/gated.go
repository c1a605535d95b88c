package judge

import (
	"maps"
	"slices"

	"weir/stat"
	"weir/table"
)

// Figures are the numbers that gates of a scenario ("" = over all) limit, each
// once: the family of a comparison in which they are gated. Two limits on one
// number are one figure. Gates that Check refuses have none.
func (g Gates) Figures(scenario string, n Names) []Figure {
	var out []Figure
	for _, name := range slices.Sorted(maps.Keys(g)) {
		for _, c := range g[name] {
			s, err := n.resolve(name, c.Stat)
			if err != nil {
				continue
			}
			s.figure.Scenario, s.figure.Phase = scenario, c.Phase
			if !slices.Contains(out, s.figure) {
				out = append(out, s.figure)
			}
		}
	}
	return out
}

// WholeRun are the figures of a run that no single answer has, over all and of
// each scenario, in all phases together and in each: what RunFigures.Figures
// takes. Of the input it needs Rows, Prices and Span. A figure that cannot be
// known is not there.
func WholeRun(in Input) map[Figure]stat.Point {
	rows := admitted(in.Rows)
	scenarios := []string{""}
	for _, r := range rows {
		if !slices.Contains(scenarios, r.Scenario) {
			scenarios = append(scenarios, r.Scenario)
		}
	}
	phases := phasesOf(rows, in.Span)
	out := map[Figure]stat.Point{}
	for _, scenario := range scenarios {
		s := scope{in: &in, rows: rows, scenario: scenario}
		s.put(out, s.everywhere(phases), "")
		for _, phase := range phases {
			if phase != "" {
				s.put(out, s.inPhase(phase), phase)
			}
		}
	}
	return out
}

// put adds the figures of one part of the run.
func (s scope) put(out map[Figure]stat.Point, part scope, phase string) {
	for name := range wholeRunFigures {
		if x := part.wholeRun(name); x.point.Is != stat.NotGiven {
			out[Figure{Metric: name, Scenario: s.scenario, Phase: phase}] = x.point
		}
	}
}

// everywhere is all phases as one, measured as long as all of them.
func (s scope) everywhere(phases []string) scope {
	in, out := *s.in, scope{scenario: s.scenario}
	in.Span = map[string]float64{"": 0}
	for _, phase := range phases {
		seconds := s.in.Span[phase]
		if !(seconds > 0) { // the time of all is unknown where that of one is
			in.Span = nil
			break
		}
		in.Span[""] += seconds
	}
	out.in = &in
	for _, r := range s.rows {
		if s.scenario == "" || r.Scenario == s.scenario {
			out.rows = append(out.rows, r)
		}
	}
	return out
}

// admitted are the rows that belong to the figures.
func admitted(all []table.Row) []*table.Row {
	var rows []*table.Row
	for i := range all {
		if r := &all[i]; measured(r) {
			rows = append(rows, r)
		}
	}
	return rows
}
