package stat

import (
	"cmp"
	"slices"
)

// Holm adjusts the p-values of a family of tests, so that rejecting those whose
// adjusted value is at most α keeps the chance of any false rejection at most α,
// whatever the dependence between the tests (Holm 1979). The i-th smallest of m
// is multiplied by m−i+1, made no less than the one before and at most 1. A test
// that could not be made is a 1. The result is in the order of ps.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	out := make([]float64, len(ps))
	last := 0.0
	for i, at := range order {
		last = max(last, min(1, ps[at]*float64(len(ps)-i)))
		out[at] = last
	}
	return out
}
