package stat

import "math"

// exactLimit is the number of values of both samples together up to which the
// null distribution of the rank sum is enumerated (at the limit 25 million
// additions). There the normal approximation is off by less than 0.002.
const exactLimit = 100

// RankTest is the Mann–Whitney U test of two independent samples.
type RankTest struct {
	// U counts the pairs (a, b) with b > a, ties as ½: 0 to len(a)·len(b).
	U float64
	// Greater is U ÷ all pairs, an estimate of P(B > A) + ½·P(B = A): ½ where
	// neither sample tends to be larger.
	Greater float64
	// P is the two-sided p-value, twice the smaller tail, at most 1.
	P float64
	// Exact is true where P comes from all the ways to deal the observed ranks,
	// ties included, to two samples of these sizes; false where it comes from
	// the normal approximation with tie and continuity correction.
	Exact bool
}

// MannWhitney compares two samples by ranks (Mann & Whitney 1947; ties by the
// conditional permutation distribution, Lehmann, Nonparametrics, §1.4).
// Infinite values rank at the end, tied among themselves. ok is false where a
// sample is empty or holds NaN.
func MannWhitney(a, b []float64) (t RankTest, ok bool) {
	if len(a) == 0 || len(b) == 0 || hasNaN(a) || hasNaN(b) {
		return RankTest{}, false
	}
	r := rank(a, b)
	pairs := float64(len(a) * len(b))
	// The rank sum of A is U's complement: pairs with a > b, plus n(n+1)/2.
	t.U = pairs - (float64(r.sumA)/2 - float64(len(a)*(len(a)+1))/2)
	t.Greater = t.U / pairs
	if t.Exact = len(a)+len(b) <= exactLimit; t.Exact {
		t.P = r.exact(len(a))
	} else {
		t.P = r.normal(len(a))
	}
	return t, true
}

// exact is twice the smaller tail of the rank sum of a sample of na. The two
// sums of a split are complements, so either sample's tail is the other's:
// the smaller sample is enumerated.
func (r ranked) exact(na int) float64 {
	k, sum := na, r.sumA
	if nb := len(r.doubled) - na; nb < na {
		k, sum = nb, len(r.doubled)*(len(r.doubled)+1)-r.sumA
	}
	below, above, all := 0.0, 0.0, 0.0
	for s, n := range sums(r.doubled, k) {
		all += n
		if s <= sum {
			below += n
		}
		if s >= sum {
			above += n
		}
	}
	return min(1, 2*min(below, above)/all)
}

// normal is the two-sided p-value of the rank sum by the normal approximation:
// its variance is that of sampling without replacement, which holds the tie
// correction, and half a rank is taken off for continuity.
func (r ranked) normal(na int) float64 {
	n := len(r.doubled)
	mean := float64(n+1) / 2
	spread := 0.0
	for _, d := range r.doubled {
		spread += (float64(d)/2 - mean) * (float64(d)/2 - mean)
	}
	variance := spread * float64(na) * float64(n-na) / float64(n) / float64(n-1)
	off := math.Abs(float64(r.sumA)/2-mean*float64(na)) - 0.5
	if variance <= 0 || off <= 0 {
		return 1
	}
	return math.Erfc(off / math.Sqrt(2*variance))
}

// LeastP is the smallest p-value that MannWhitney can give for samples of
// these sizes: 2 ÷ C(na+nb, na), where every value of one sample is above every
// value of the other. 1 where a sample is empty.
func LeastP(na, nb int) float64 {
	if na <= 0 || nb <= 0 {
		return 1
	}
	return min(1, 2/binomial(na+nb, na))
}

// binomial is C(n, k), to 15 digits.
func binomial(n, k int) float64 {
	c := 1.0
	for i := 1; i <= k; i++ {
		c = c * float64(n-k+i) / float64(i)
	}
	return c
}

func hasNaN(xs []float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) {
			return true
		}
	}
	return false
}
