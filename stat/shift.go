package stat

import (
	"math"
	"slices"
)

// Shift is by how much the values of one sample exceed those of another.
type Shift struct {
	// Estimate is Hodges and Lehmann's: the median of all differences b − a.
	Estimate float64
	Lo, Hi   float64
	// Finite is false where the samples are too small for an interval at the
	// level asked for; Lo and Hi are then infinite.
	Finite bool
}

// HodgesLehmann estimates the shift from a to b, with the interval that the
// Mann–Whitney test inverts to (Hodges & Lehmann 1963; Hollander, Wolfe &
// Chicken, Nonparametric Statistical Methods, §4.3): the k-th smallest and the
// k-th largest difference, k the largest number with P(U ≤ k−1) ≤ (1−level)/2.
// Its coverage is at least level; with ties more. An interval at 90 % needs 3
// values a side, at 95 % 4. ok is false where a sample is empty or a value is
// not finite: a difference with infinity says nothing about size.
func HodgesLehmann(a, b []float64, level float64) (s Shift, ok bool) {
	if len(a) == 0 || len(b) == 0 || level <= 0 || level >= 1 || !finite(a) || !finite(b) {
		return Shift{}, false
	}
	diffs := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			diffs = append(diffs, y-x)
		}
	}
	slices.Sort(diffs)
	n := len(diffs)
	s.Estimate = Median(diffs)
	k := tailRank(len(a), len(b), (1-level)/2)
	if s.Finite = k >= 1; s.Finite {
		s.Lo, s.Hi = diffs[k-1], diffs[n-k]
	} else {
		s.Lo, s.Hi = math.Inf(-1), math.Inf(1)
	}
	return s, true
}

// tailRank is the largest k with P(U ≤ k−1) ≤ tail for samples without ties,
// 0 if none.
func tailRank(na, nb int, tail float64) int {
	if na+nb > exactLimit {
		sd := math.Sqrt(float64(na*nb) * float64(na+nb+1) / 12)
		z := -math.Sqrt2 * math.Erfinv(2*tail-1)
		return max(0, int(math.Floor(float64(na*nb)/2-z*sd)))
	}
	least := min(na, nb)
	all := binomial(na+nb, least)
	counts := sums(untied(na+nb), least)
	sum, k := 0.0, 0
	// Totals are doubled and begin at 2·(1 + 2 + … + least), where U is 0.
	for s := least * (least + 1); s < len(counts); s += 2 {
		// The margin of a billionth keeps a tail that equals its bound (1/20 at
		// 90 %) from being lost to rounding.
		if sum += counts[s]; sum/all > tail*(1+1e-9) {
			break
		}
		k++
	}
	return k
}

// Median of sorted values, the mean of the middle two where their number is
// even; of none NaN. It is for differences and for the figures of a few runs:
// a quantile of requests is a nearest rank, see Quantile.
func Median(sorted []float64) float64 {
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	lo, hi := sorted[n/2-1], sorted[n/2]
	if lo == hi {
		return lo // also where both are the same infinity
	}
	return lo + (hi-lo)/2
}

func finite(xs []float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
