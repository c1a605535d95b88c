package stat

import (
	"math"
	"slices"
)

// Fraction is a quantile as an exact fraction A/B: p95 is {95, 100}. Ranks are
// computed in integers, because 0.95·n in floats is off by one for some n.
type Fraction struct{ A, B int }

// The quantiles weir prints.
var (
	P50  = Fraction{50, 100}
	P90  = Fraction{90, 100}
	P95  = Fraction{95, 100}
	P99  = Fraction{99, 100}
	P999 = Fraction{999, 1000}
)

// Rank is the nearest rank ⌈a·n/b⌉ of the quantile among n values, 1 to n;
// 0 where n is 0.
func (f Fraction) Rank(n int) int {
	if n <= 0 {
		return 0
	}
	return max(1, (f.A*n+f.B-1)/f.B)
}

// Float is the fraction as a number.
func (f Fraction) Float() float64 { return float64(f.A) / float64(f.B) }

// Quantile is the nearest-rank quantile of sorted values; false where there
// are none. It applies no rule of sample size: see Summarize for that.
func Quantile(sorted []float64, f Fraction) (float64, bool) {
	if len(sorted) == 0 {
		return 0, false
	}
	return sorted[f.Rank(len(sorted))-1], true
}

// Is says how a quantile is to be read.
type Is string

// The readings, as they stand in JSON beside a quantile (pNN_is).
const (
	Exact    Is = "exact" // V is the value
	OverLow  Is = "over"  // "> V": censored values decide it
	IsNever  Is = "never" // the value at this rank never came
	NotGiven Is = "na"    // too few values to say
)

// Point is an order statistic of a set that may hold censored values.
type Point struct {
	V  float64 // exact: the value; over: the bound it exceeds; else not to be used
	Is Is
}

// Get returns the value and whether it is exact.
func (p Point) Get() (float64, bool) { return p.V, p.Is == Exact }

// set is the two sorted views of the same samples.
type set struct{ low, high []float64 }

func newSet(samples []Sample) set {
	var s set
	for _, x := range samples {
		if x.Is == Missing {
			continue
		}
		s.low = append(s.low, x.low())
		s.high = append(s.high, x.high())
	}
	slices.Sort(s.low)
	slices.Sort(s.high)
	return s
}

// at is the order statistic of a 1-based rank, taken twice (METRICS §8.2):
// with what we cut censored at its elapsed time, and at +Inf. If the two
// differ only the lower bound is known.
func (s set) at(rank int) Point {
	if rank < 1 || rank > len(s.low) {
		return Point{Is: NotGiven}
	}
	lo, hi := s.low[rank-1], s.high[rank-1]
	switch {
	case math.IsInf(lo, 1):
		return Point{Is: IsNever}
	case lo != hi:
		return Point{V: lo, Is: OverLow}
	}
	return Point{V: lo, Is: Exact}
}
