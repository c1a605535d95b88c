package stat_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/stat"
)

func TestHolm(t *testing.T) {
	for _, c := range []struct{ in, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.03}, []float64{0.03}},
		// Holm 1979 by hand: 4·0.01, 3·0.02, 2·0.03 (not below 0.06), 1·0.04 (not below 0.06).
		{[]float64{0.04, 0.01, 0.03, 0.02}, []float64{0.06, 0.04, 0.06, 0.06}},
		{[]float64{0.9, 0.8, 0.001}, []float64{1, 1, 0.003}},
		{[]float64{1, 1}, []float64{1, 1}},
	} {
		got := stat.Holm(c.in)
		if !slices.EqualFunc(got, c.want, near) {
			t.Errorf("Holm(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

// TestHolmStepDown holds the adjusted values against the procedure as it was
// published: go up the sorted values and stop at the first above α/(m−i+1).
func TestHolmStepDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 8).Draw(t, "ps")
		alpha := rapid.Float64Range(0.001, 0.5).Draw(t, "alpha")
		adjusted := stat.Holm(ps)
		sorted := slices.Sorted(slices.Values(ps))
		cut := -1.0
		for i, p := range sorted {
			if p*float64(len(ps)-i) > alpha {
				break
			}
			cut = p
		}
		for i, p := range ps {
			if (adjusted[i] <= alpha) != (p <= cut) {
				t.Fatalf("p %v adjusted %v: α %v, step-down rejects up to %v", p, adjusted[i], alpha, cut)
			}
		}
	})
}
