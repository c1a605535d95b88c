package judge

import "math"

// intervalTail is the probability left out on each side of a 95 % interval.
const intervalTail = 0.025

// shareInterval is the exact binomial 95 % interval (Clopper and Pearson, 1934)
// of a share of k in n: the shares under which neither as many as k nor as few
// would have a chance of 2.5 % or less. n must be above 0.
func shareInterval(k, n int) (lo, hi float64) {
	lo, hi = 0, 1
	if k > 0 {
		lo = solve(func(p float64) bool { return beta(p, float64(k), float64(n-k+1)) < intervalTail })
	}
	if k < n {
		hi = solve(func(p float64) bool { return beta(p, float64(k+1), float64(n-k)) < 1-intervalTail })
	}
	return lo, hi
}

// solve is where below, which holds from 0 up to a point, ceases to hold.
func solve(below func(float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for range 60 {
		if mid := (lo + hi) / 2; below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// beta is the regularised incomplete beta function I_x(a, b), which for whole
// numbers is P(Bin(a+b−1, x) ≥ a); by its continued fraction (DLMF 8.17.22).
func beta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction of the mirror image is the faster
		return 1 - beta(1-x, b, a)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	return front / a * betaFraction(x, a, b)
}

// betaFraction evaluates the fraction by Lentz's method, as modified by
// Thompson and Barnett.
func betaFraction(x, a, b float64) float64 {
	const tiny, steps = 1e-300, 10_000
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for i := 1; i < steps; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		f *= d * c
		if math.Abs(d*c-1) < 1e-14 {
			break
		}
	}
	return f
}
