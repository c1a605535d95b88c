package stat

import (
	"math"
	"slices"
)

// MinMedian is the least number of values a median is printed for.
const MinMedian = 3

// Summary is what a set of values bears. Quantiles follow METRICS §8.2 and
// §8.5: below MinMedian no quantile is given and Values lists what there is;
// p90 and above are na where their interval is not finite.
type Summary struct {
	N       int // values in the set: reached, over and never
	Reached int
	Over    int
	Never   int
	Missing int // left out: unknown, or the value does not apply

	P50, P90, P95, P99, P999 Quantiled
	Min, Max                 Point // first and last order statistic; na where N is 0

	Mean   Sample // of the reached values only; Missing where there are none
	StdDev Sample // sample deviation (n−1) of the reached; Missing below 2

	Values []Sample // the values themselves, in order, where N < MinMedian
}

// Quantiled is a quantile with its 95 % interval within the run. The interval
// assumes independent requests and feeds no comparison of runs.
type Quantiled struct {
	Point
	Lo, Hi Point // bounds; both na where the sample is too small (see Ranks)
}

// HasInterval reports whether the sample is large enough for the interval. A
// gate on a quantile without one is undecided.
func (q Quantiled) HasInterval() bool { return q.Lo.Is != NotGiven && q.Hi.Is != NotGiven }

// Summarize summarises samples in any order; it does not change them.
func Summarize(samples []Sample) Summary {
	var s Summary
	var reached []float64
	for _, x := range samples {
		switch x.Is {
		case Missing:
			s.Missing++
		case Reached:
			reached = append(reached, x.V)
		case Over:
			s.Over++
		case Never:
			s.Never++
		}
	}
	s.Reached = len(reached)
	s.N = s.Reached + s.Over + s.Never
	s.Mean, s.StdDev = Mean(reached), StdDev(reached)
	o := newSet(samples)
	s.Min, s.Max = o.at(1), o.at(s.N)
	s.P50, s.P90, s.P95 = o.quantile(P50), o.quantile(P90), o.quantile(P95)
	s.P99, s.P999 = o.quantile(P99), o.quantile(P999)
	if s.N < MinMedian {
		s.Values = listed(samples)
	}
	return s
}

// quantile applies the rule of sample size.
func (s set) quantile(f Fraction) Quantiled {
	na := Point{Is: NotGiven}
	q := Quantiled{Point: na, Lo: na, Hi: na}
	n := len(s.low)
	lo, hi, ok := Ranks(n, f)
	if ok {
		q.Lo, q.Hi = s.at(lo), s.at(hi)
	}
	if ok || (f == P50 && n >= MinMedian) {
		q.Point = s.at(f.Rank(n))
	}
	return q
}

func listed(samples []Sample) []Sample {
	var out []Sample
	for _, x := range samples {
		if x.Is != Missing {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b Sample) int {
		switch x, y := a.low(), b.low(); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a.Is) - int(b.Is)
	})
	return out
}

// Mean is the arithmetic mean; Missing where there are no values.
func Mean(xs []float64) Sample {
	if len(xs) == 0 {
		return Sample{}
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return At(sum / float64(len(xs)))
}

// StdDev is the sample standard deviation (n−1), computed in two passes;
// Missing below 2 values.
func StdDev(xs []float64) Sample {
	if len(xs) < 2 {
		return Sample{}
	}
	mean := Mean(xs).V
	sum := 0.0
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	return At(math.Sqrt(sum / float64(len(xs)-1)))
}
