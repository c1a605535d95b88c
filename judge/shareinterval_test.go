package judge

import (
	"math"
	"testing"
)

// atLeast is P(Bin(n, p) ≥ k), term by term.
func atLeast(k, n int, p float64) float64 {
	sum := 0.0
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// TestShareInterval holds the ends to their definition by plain sums, and to
// published values (3 of 10: 6.67 % to 65.25 %).
func TestShareInterval(t *testing.T) {
	for _, n := range []int{1, 2, 7, 10, 100, 3000} {
		for _, k := range []int{0, 1, n / 3, n / 2, n - 1, n} {
			lo, hi := shareInterval(k, n)
			share := float64(k) / float64(n)
			if !(0 <= lo && lo <= share && share <= hi && hi <= 1) {
				t.Errorf("%d of %d: %v to %v does not hold the share", k, n, lo, hi)
			}
			if got := atLeast(k, n, lo); k > 0 && math.Abs(got-0.025) > 1e-8 {
				t.Errorf("%d of %d: at the lower end so many have a chance of %v", k, n, got)
			}
			if got := 1 - atLeast(k+1, n, hi); k < n && math.Abs(got-0.025) > 1e-8 {
				t.Errorf("%d of %d: at the upper end so few have a chance of %v", k, n, got)
			}
			if k == 0 && lo != 0 || k == n && hi != 1 {
				t.Errorf("%d of %d: %v to %v", k, n, lo, hi)
			}
		}
	}
	lo, hi := shareInterval(3, 10)
	if math.Abs(lo-0.0667) > 5e-5 || math.Abs(hi-0.6525) > 5e-5 {
		t.Errorf("3 of 10: %v to %v", lo, hi)
	}
	lo, hi = shareInterval(999_000, 1_000_000)
	if lo < 0.9989 || lo > 0.999 || hi < 0.999 || hi > 0.9991 {
		t.Errorf("999000 of 1000000: %v to %v", lo, hi)
	}
}
