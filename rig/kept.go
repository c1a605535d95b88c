package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"weir/judge"
	"weir/table"
)

// PartOf is a run of a store with its rows.
func PartOf(r table.Run, rows []table.Row) (Part, error) {
	p := Part{RunFile: RunFile{Run: r, Warnings: r.Warnings, Deadline: r.Deadline}, Rows: rows}
	if len(r.Phases) > 0 {
		if err := json.Unmarshal(r.Phases, &p.Phases); err != nil {
			return p, fmt.Errorf("run %s: phases: %w", r.ID, err)
		}
	}
	h, err := ReadHeld(r)
	p.AllowUndecided, p.Prices = h.AllowUndecided, h.Prices
	return p, err
}

// PartIn is the run of a run directory, with warnings of what could not be read.
func PartIn(dir string) (Part, error) {
	f, rows, warnings, err := ReadRunDir(dir)
	f.Warnings = append(slices.Clone(f.Warnings), warnings...)
	return Part{RunFile: f, Rows: rows}, err
}

// part is a bench as it would be read back.
func (b *Bench) part(p *LoadPlan) Part {
	return Part{RunFile: RunFile{Run: b.Run, Phases: b.Load.Phases, Warnings: b.Warnings, Logs: b.Logs,
		Deadline: p.deadline(), AllowUndecided: p.AllowUndecided, Prices: p.Prices}, Rows: b.Rows}
}

// span is how long each phase was measured, in seconds.
func (p Part) span() map[string]float64 {
	out := map[string]float64{}
	for _, x := range p.Phases {
		out[x.Name] = x.Seconds
	}
	return out
}

// figures is the run as a side of a comparison has it.
func (p Part) figures() (judge.RunFigures, error) {
	h, err := ReadHeld(p.Run)
	if err != nil {
		return judge.RunFigures{}, err
	}
	in := h.input()
	in.Rows, in.Span = p.Rows, p.span()
	r := p.Run
	f := judge.RunFigures{ID: r.ID, Start: r.Start, Valid: r.Fitness(), Partial: r.Partial, Config: r.Config, Rows: p.Rows, Figures: judge.WholeRun(in)}
	if len(f.Config) == 0 {
		return f, fmt.Errorf("run %s does not say what was asked of the service (config), so nothing shows that others are like it: run it again with this weir", r.ID)
	}
	return f, nil
}

// CompareRuns compares runs that were kept. The family are the figures that the first run
// of A was gated by.
func CompareRuns(a, b []Part, names [2]string, o judge.CompareOptions) (judge.Comparison, error) {
	if len(a) == 0 || len(b) == 0 {
		return judge.Comparison{}, errors.New("compare: a side has no run")
	}
	h, err := ReadHeld(a[0].Run)
	if err != nil {
		return judge.Comparison{}, err
	}
	o.Gated, o.Better = h.family()
	sides := [2]judge.Side{{Name: names[0]}, {Name: names[1]}}
	for i, runs := range [][]Part{a, b} {
		for _, p := range runs {
			f, err := p.figures()
			if err != nil {
				return judge.Comparison{}, err
			}
			sides[i].Runs = append(sides[i].Runs, f)
		}
	}
	return judge.Compare(sides[0], sides[1], o)
}
