package judge

import (
	"fmt"
	"slices"

	"weir/metric"
	"weir/stat"
	"weir/table"
)

// figures are the family and what is shown beside it, each described.
func (o CompareOptions) figures(a, b Side) (family, beside []compared, err error) {
	names := o.Gated
	if len(names) == 0 {
		names = Headline
	}
	for _, f := range unique(names) {
		c, err := o.describe(f, a, b)
		if err != nil {
			return nil, nil, err
		}
		if c.better == metric.Neither {
			return nil, nil, fmt.Errorf("compare: figure %q: neither more nor less of %s is better; say which (Better), or compare another", f, f.Metric)
		}
		family = append(family, c)
	}
	rest := o.Beside
	if rest == nil {
		rest = usual(a, b)
	}
	for _, f := range unique(rest) {
		if slices.Contains(names, f) {
			continue
		}
		c, err := o.describe(f, a, b)
		if err != nil {
			return nil, nil, err
		}
		beside = append(beside, c)
	}
	return family, beside, nil
}

// describe finds what kind of number a figure is. A name that weir does not know
// is a figure all the same if a run was given one (RunFigures.Figures), or if a
// scenario has a mark of that name.
func (o CompareOptions) describe(f Figure, a, b Side) (compared, error) {
	kind, err := f.kind()
	if err != nil {
		byMark := f
		byMark.Metric = metric.MarkPrefix + f.Metric
		marked, markErr := byMark.kind()
		switch runs := slices.Concat(a.Runs, b.Runs); {
		case slices.ContainsFunc(runs, f.given):
			kind = figureKind{}
		case markErr == nil && slices.ContainsFunc(runs, f.marked):
			kind = marked
		default:
			return compared{}, fmt.Errorf("compare: %w", err)
		}
	}
	if better, ok := o.Better[f]; ok {
		kind.better = better
	}
	return compared{f, kind}, nil
}

func (f Figure) given(r RunFigures) bool { _, ok := r.Figures[f]; return ok }

func (f Figure) marked(r RunFigures) bool {
	return slices.ContainsFunc(r.Rows, func(row table.Row) bool { return row.Values.Get(f.Metric).Is != stat.Missing })
}

// usual is what is shown beside a family when nothing was chosen: the headline,
// the usual figures, and where there are several scenarios the headline of each.
func usual(a, b Side) []Figure {
	out := slices.Concat(Headline, alongside)
	var scenarios []string
	for _, r := range slices.Concat(a.Runs, b.Runs) {
		for i := range r.Rows {
			if s := r.Rows[i].Scenario; s != "" && !slices.Contains(scenarios, s) {
				scenarios = append(scenarios, s)
			}
		}
	}
	if len(scenarios) < 2 {
		return out
	}
	for _, s := range scenarios {
		for _, f := range Headline {
			f.Scenario = s
			out = append(out, f)
		}
	}
	return out
}

func unique(figures []Figure) []Figure {
	var out []Figure
	for _, f := range figures {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}
