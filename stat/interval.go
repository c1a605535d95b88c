package stat

import "math"

// tail is the probability left out on each side of a 95 % interval.
const tail = 0.025

// Ranks returns the 1-based ranks lo and hi of the order statistics that bound
// the 95 % interval of a quantile among n independent values: the exact
// binomial interval with equal tails (David & Nagaraja, Order Statistics,
// §7.1). With B ~ Bin(n, p), lo is the largest rank with P(B < lo) ≤ 0.025
// and hi the smallest with P(B ≥ hi) ≤ 0.025. ok is false where the sample is
// too small for both to exist: below n = 6, 36, 72, 368, 3688 for p50, p90,
// p95, p99, p99.9.
func Ranks(n int, f Fraction) (lo, hi int, ok bool) {
	if n <= 0 || f.A <= 0 || f.A >= f.B {
		return 0, 0, false
	}
	lo = lowerRank(n, f.Float())
	hi = n + 1 - lowerRank(n, float64(f.B-f.A)/float64(f.B))
	return lo, hi, lo >= 1 && hi <= n
}

// lowerRank is the largest k with P(Bin(n, p) ≤ k−1) ≤ tail, 0 if none. The
// upper rank is its mirror image: P(Bin(n,p) ≥ u) = P(Bin(n,1−p) ≤ n−u).
// The sum starts 12 standard deviations below the mean, where what lies
// before is below 1e-30, so that it costs O(√n) and does not underflow.
func lowerRank(n int, p float64) int {
	mean := float64(n) * p
	sd := math.Sqrt(mean * (1 - p))
	k := max(0, int(mean-12*sd-20))
	mass := math.Exp(logPMF(n, k, p))
	sum := mass
	for sum <= tail && k < n {
		k++
		mass *= float64(n-k+1) / float64(k) * p / (1 - p)
		sum += mass
	}
	return k
}

// logPMF is ln P(Bin(n, p) = k).
func logPMF(n, k int, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)
}
