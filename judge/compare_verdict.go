package judge

import (
	"fmt"
	"math"
	"slices"

	"weir/stat"
)

// convict gives the verdict of a figure whose comparison has runs enough.
func (v FigureVerdict) convict() FigureVerdict {
	switch word, worse := v.beyond(); {
	case v.P == nil:
		v.Why = v.lacking()
	case *v.PHolm <= Alpha && word != "":
		v.Verdict, v.Why = word, v.reason(worse)
	default:
		v = v.within()
	}
	return v
}

// within is same where the inner interval lies inside the margin, else it says
// why there is no evidence.
func (v FigureVerdict) within() FigureVerdict {
	switch {
	case v.P == nil:
		v.Why = v.lacking()
	case v.Better == "":
		v.Why = "neither more nor less of it is better"
	case v.Inner != nil && v.Margin != nil && -*v.Margin <= v.Inner[0] && v.Inner[1] <= *v.Margin:
		v.Verdict, v.Why = Same, "the 90 % interval of the shift lies inside the margin"
	case v.A.Never+v.B.Never > 0 && v.PHolm != nil && *v.PHolm <= Alpha:
		v.Why = "it never came, or is only known to exceed a bound, in some runs; between the others there is less than the margin"
	case v.A.Never+v.B.Never > 0:
		v.Why = "it never came, or is only known to exceed a bound, in some runs, and the ranks do not tell the sides apart"
	case v.PHolm != nil && *v.PHolm <= Alpha:
		v.Why = "the shift is not beyond the margin, and its interval is not inside it"
	default:
		v.Why = "the runs do not tell the sides apart, and the interval is not inside the margin"
	}
	return v
}

// beyond says which way the shift goes beyond the margin, "" if it does not.
func (v FigureVerdict) beyond() (word string, worse bool) {
	switch {
	case v.Better == "" || v.BGreater == nil:
		return "", false
	case v.Shift == nil:
		return v.beyondByRanks()
	case v.Margin == nil || math.Abs(*v.Shift) <= *v.Margin:
		return "", false
	}
	return direction((*v.Shift > 0) == (v.Better == "lower"))
}

// beyondByRanks is beyond where a run's value never came, so that the shift has
// no size: the ranks say which way, and never is beyond any margin. Only where
// the nevers do not lie on the side that the ranks call worse is the middle
// difference held against the margin: one run of A that never came must not turn
// a trifle between the others into a conviction of B.
func (v FigureVerdict) beyondByRanks() (word string, worse bool) {
	worse = (*v.BGreater > 0.5) == (v.Better == "lower")
	if *v.BGreater == 0.5 {
		return "", false
	}
	if worse && v.B.Never > v.A.Never || !worse && v.A.Never > v.B.Never {
		return direction(worse)
	}
	if v.Margin == nil || math.Abs(middle(v.A.costs, v.B.costs)) <= *v.Margin {
		return "", false
	}
	return direction(worse)
}

// middle is the median of all differences b − a, in which never less never is 0.
func middle(a, b []float64) float64 {
	var diffs []float64
	for _, x := range a {
		for _, y := range b {
			d := y - x
			if math.IsNaN(d) {
				d = 0
			}
			diffs = append(diffs, d)
		}
	}
	slices.Sort(diffs)
	return stat.Median(diffs)
}

func direction(worse bool) (word string, _ bool) {
	if worse {
		return Slower, true
	}
	return Faster, false
}

// reason puts a conviction in words.
func (v FigureVerdict) reason(worse bool) string {
	word := "better"
	if worse {
		word = "worse"
	}
	if v.Shift == nil {
		return fmt.Sprintf("%s by ranks (Holm p %.3g); it never came in %s of A and %s of B, so the shift has no size",
			word, *v.PHolm, counted(v.A.Never, "run"), counted(v.B.Never, "run"))
	}
	return fmt.Sprintf("%s by more than the margin (Holm p %.3g)", word, *v.PHolm)
}

func (v FigureVerdict) lacking() string {
	if v.A.N+v.B.N == 0 {
		return "no run has it"
	}
	return fmt.Sprintf("missing in %s of A and %s of B: it does not apply there, or the requests are too few for it",
		counted(v.A.Missing, "run"), counted(v.B.Missing, "run"))
}

// indicative gives what may be said of a figure that cannot convict: same where
// the intervals bear it, else which way it leans. Where the runs are too few for
// an interval over runs, the time-block bootstrap stands in.
func (v FigureVerdict) indicative(o CompareOptions, a, b Side) FigureVerdict {
	v = v.within()
	interval := v.Interval
	if v.P != nil && interval == nil && v.Shift != nil {
		v.Drawn = o.bootstrap(v.Figure, a, b)
		interval = v.Drawn
	}
	apart := interval != nil && (interval[0] > 0 || interval[1] < 0)
	if v.Shift == nil && v.P != nil {
		apart = *v.P <= Alpha // without a size there is only this figure's own p
	}
	if word, _ := v.beyond(); apart {
		v.Leans = word
	}
	if v.Leans != "" {
		v.Why = "leans " + v.Leans + ": indicative only, it convicts nobody"
	}
	return v
}

func (o CompareOptions) bootstrap(f Figure, a, b Side) *Bounds {
	var sides [2][]stat.Blocks
	for i, s := range []Side{a, b} {
		for _, r := range s.Runs {
			cut, ok := f.blocks(r)
			if !ok {
				return nil
			}
			sides[i] = append(sides[i], cut)
		}
	}
	lo, hi, ok := stat.BlockBootstrap(sides[0], sides[1], f.fold, 0.95, o.Seed)
	if !ok {
		return nil
	}
	return &Bounds{lo, hi}
}
