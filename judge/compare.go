package judge

import (
	"fmt"
	"time"

	"weir/metric"
	"weir/stat"
	"weir/table"
)

// Side is one of the two sides of a comparison.
type Side struct {
	Name string
	Runs []RunFigures
}

// RunFigures is one run, of which a comparison knows two things: what it was,
// and the figures it gave.
type RunFigures struct {
	ID      string
	Start   time.Time // zero = unknown
	Valid   string    // verdict on the instrument: valid, suspect, invalid; "" = unknown
	Partial bool      // it was cut short
	// Config is what must match between all runs unless it is varied: target,
	// dialect, model, prompt, build, scenarios, load, definitions, cache … Long
	// values (a prompt) are better given as their hash.
	Config map[string]string
	// Rows are the answers. Warm-up and other paths than the main one are left
	// out of every figure.
	Rows []table.Row
	// Figures are figures taken elsewhere: of the whole run (rate, system_tps),
	// or instead of rows.
	Figures map[Figure]stat.Point
}

// CompareOptions are the choices of a comparison; the zero value compares the
// headline.
type CompareOptions struct {
	// Vary lists the keys of Config that may differ between the sides. Within a
	// side every key must match.
	Vary []string
	// Gated is the family: the figures in which a difference convicts. Empty is
	// the Headline.
	Gated []Figure
	// Better says which way a figure gets better where its metric does not, or
	// says otherwise.
	Better map[Figure]metric.Direction
	// Beside is what else is shown, indicative only. nil: the rest of the
	// headline and the usual figures that the runs have; empty: nothing.
	Beside []Figure
	Margin float64 // part of A's median run that a shift must exceed to matter; 0 = 0.05
	// Floors are the least margins by unit: ms 5, share and index 0.01, tok/s and
	// char/s 0.5, others 0. A key given here replaces its default.
	Floors map[string]float64
	Seed   uint64 // of the bootstrap
}

// defaultMargin is the relative margin (METRICS §10, a choice).
const defaultMargin = 0.05

// defaultFloors are the absolute margins by unit (METRICS §10, a choice).
var defaultFloors = map[string]float64{"ms": 5, "share": 0.01, "index": 0.01, "tok/s": 0.5, "char/s": 0.5}

// The verdicts of a comparison. Slower and faster are said of latencies; of any
// other figure slower means worse and faster better, so that a program needs to
// know one word for a regression.
const (
	Slower     = "slower"
	Faster     = "faster"
	Same       = "same" // within the margin, which is more than "not different"
	NoEvidence = "no_evidence"
)

// Comparison is what two sides of runs bear on each other (METRICS §10).
type Comparison struct {
	A    ComparedSide `json:"a"`
	B    ComparedSide `json:"b"`
	Vary []string     `json:"vary"`

	// Verdict is slower if any figure of the family is, else faster if any is,
	// else same if all are, else no_evidence.
	Verdict string `json:"verdict"`
	// Family is what the family is: gated or headline; M how many figures it has.
	Family string  `json:"family"`
	M      int     `json:"m"`
	Alpha  float64 `json:"alpha"`
	Need   int     `json:"runs_needed"` // a side, to find a difference in M figures
	// Convicts is false where the runs are too few: the comparison is then
	// indicative and its verdict never slower or faster.
	Convicts bool `json:"can_convict"`

	Figures  []FigureVerdict `json:"figures"` // the family first
	Warnings []string        `json:"warnings"`
}

// Regressed reports whether B is slower (worse) than A in a figure of the
// family: what a command fails on.
func (c Comparison) Regressed() bool { return c.Verdict == Slower }

// ComparedSide says what a side was.
type ComparedSide struct {
	Name   string            `json:"name"`
	N      int               `json:"n"`
	Runs   []string          `json:"runs"`
	Varied map[string]string `json:"varied"` // its values of the varied keys
}

// Compare compares two sides of runs. The unit is the run: requests of one run
// are not independent. It refuses, with an error that names the place, runs
// that are unlike (*UnlikeError), invalid, partial or given twice, and figures
// that do not exist. What it finds is never an error.
func Compare(a, b Side, o CompareOptions) (Comparison, error) {
	if err := o.validate(); err != nil {
		return Comparison{}, err
	}
	if err := admit(a, b, o.Vary); err != nil {
		return Comparison{}, err
	}
	family, beside, err := o.figures(a, b)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{
		A: a.summary(o.Vary), B: b.summary(o.Vary), Vary: append([]string{}, o.Vary...),
		Family: "headline", M: len(family), Alpha: Alpha, Need: NeedRuns(len(family)),
		Convicts: canConvict(len(a.Runs), len(b.Runs), len(family)),
		Warnings: warnings(a, b, o.Vary, len(family)),
	}
	if len(o.Gated) > 0 {
		c.Family = "gated"
	}
	c.Figures = o.judgeFamily(family, a, b, c.Convicts)
	c.Verdict = overall(c.Figures)
	for _, f := range beside {
		if v := o.measure(f, a, b); v.A.N+v.B.N > 0 {
			c.Figures = append(c.Figures, v.indicative(o, a, b))
		}
	}
	return c, nil
}

func (s Side) summary(vary []string) ComparedSide {
	out := ComparedSide{Name: s.Name, N: len(s.Runs), Varied: map[string]string{}}
	for _, r := range s.Runs {
		out.Runs = append(out.Runs, r.ID)
	}
	for _, key := range vary {
		out.Varied[key] = s.Runs[0].Config[key]
	}
	return out
}

// judgeFamily tests every figure of the family, adjusts their p-values together
// and gives the verdicts.
func (o CompareOptions) judgeFamily(family []compared, a, b Side, convicts bool) []FigureVerdict {
	verdicts := make([]FigureVerdict, len(family))
	ps := make([]float64, len(family))
	for i, f := range family {
		verdicts[i] = o.measure(f, a, b)
		verdicts[i].Family = true
		ps[i] = 1
		if p := verdicts[i].P; p != nil {
			ps[i] = *p
		}
	}
	for i, p := range stat.Holm(ps) {
		if verdicts[i].P != nil {
			verdicts[i].PHolm = &p
		}
		if convicts {
			verdicts[i] = verdicts[i].convict()
		} else {
			verdicts[i] = verdicts[i].indicative(o, a, b)
		}
	}
	return verdicts
}

// overall is the verdict of the family: a regression anywhere is one.
func overall(family []FigureVerdict) string {
	count := map[string]int{}
	for _, v := range family {
		count[v.Verdict]++
	}
	switch {
	case count[Slower] > 0:
		return Slower
	case count[Faster] > 0:
		return Faster
	case count[Same] == len(family):
		return Same
	}
	return NoEvidence
}

// validate checks the choices that do not depend on the runs.
func (o CompareOptions) validate() error {
	if o.Margin < 0 || o.Margin >= 1 || o.Margin != o.Margin {
		return fmt.Errorf("compare: margin %v is not a part of 1 (0.05 is 5 %%)", o.Margin)
	}
	for unit, floor := range o.Floors {
		if !(floor >= 0) {
			return fmt.Errorf("compare: the least margin for %s is %v, not a number from 0", unit, floor)
		}
	}
	return nil
}
