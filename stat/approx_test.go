package stat

import (
	"math"
	"testing"
)

// TestNormalAgainstExact holds the two ways to a p-value against each other on
// the same ranks, at the size where the one gives way to the other.
func TestNormalAgainstExact(t *testing.T) {
	for na := 30; na <= 50; na += 10 {
		for gap := 0; gap < 40; gap += 9 {
			var a, b []float64
			for i := range 100 {
				if i%2 == 0 && len(a) < na {
					a = append(a, float64(i))
				} else {
					b = append(b, float64(i+gap))
				}
			}
			r := rank(a, b)
			if exact, normal := r.exact(len(a)), r.normal(len(a)); math.Abs(exact-normal) > 2e-3 {
				t.Errorf("%d v %d, gap %d: exact %v, normal %v", len(a), len(b), gap, exact, normal)
			}
		}
	}
}
