package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/stat"
)

func TestHodgesLehmannByHand(t *testing.T) {
	// The 16 differences of {1,2,3,4} to {11,13,15,17} run from 7 to 16. At 95 %
	// only U = 0 lies outside (1/70 ≤ 0.025 < 2/70), at 90 % U ≤ 1 as well
	// (2/70 ≤ 0.05 < 4/70): the first and last, the second and last but one.
	a, b := []float64{1, 2, 3, 4}, []float64{11, 13, 15, 17}
	s, ok := stat.HodgesLehmann(a, b, 0.95)
	if !ok || !s.Finite || s.Estimate != 11.5 || s.Lo != 7 || s.Hi != 16 {
		t.Errorf("95 %%: got %+v %v", s, ok)
	}
	if s, _ = stat.HodgesLehmann(a, b, 0.90); s.Lo != 8 || s.Hi != 15 {
		t.Errorf("90 %%: got %+v", s)
	}
	// 3 v 3: 1/20 is exactly the tail of 90 %, and above that of 95 %.
	if s, _ = stat.HodgesLehmann(seq(0, 3), seq(10, 3), 0.90); !s.Finite || s.Lo != 8 || s.Hi != 12 {
		t.Errorf("3v3, 90 %%: got %+v", s)
	}
	if s, ok = stat.HodgesLehmann(seq(0, 3), seq(10, 3), 0.95); !ok || s.Finite || !math.IsInf(s.Lo, -1) || s.Estimate != 10 {
		t.Errorf("3v3, 95 %%: got %+v %v", s, ok)
	}
}

// TestHodgesLehmannBruteForce finds the interval by inverting the test, whose
// p-values another test checks by permutation: the shifts d at which A and B−d
// do not differ at the level.
func TestHodgesLehmannBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		a := make([]float64, rapid.IntRange(1, 8).Draw(t, "na"))
		b := make([]float64, rapid.IntRange(1, 8).Draw(t, "nb"))
		level := rapid.SampledFrom([]float64{0.5, 0.8, 0.9, 0.95, 0.99}).Draw(t, "level")
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		for i := range b {
			b[i] = rng.NormFloat64() + 1
		}
		s, ok := stat.HodgesLehmann(a, b, level)
		if !ok {
			t.Fatal("not ok")
		}
		lo, hi := inverted(a, b, 1-level)
		if s.Lo != lo || s.Hi != hi || s.Finite != !math.IsInf(lo, 0) {
			t.Fatalf("got %+v, by inversion [%v, %v]", s, lo, hi)
		}
	})
}

// inverted walks over the stretches between neighbouring differences, inside
// which p is constant.
func inverted(a, b []float64, alpha float64) (lo, hi float64) {
	var d []float64
	for _, x := range a {
		for _, y := range b {
			d = append(d, y-x)
		}
	}
	slices.Sort(d)
	edges := slices.Concat([]float64{d[0] - 2}, d, []float64{d[len(d)-1] + 2})
	lo, hi = math.Inf(1), math.Inf(-1)
	for i := range len(edges) - 1 {
		mid := (edges[i] + edges[i+1]) / 2
		moved := make([]float64, len(b))
		for j := range b {
			moved[j] = b[j] - mid
		}
		if r, _ := stat.MannWhitney(a, moved); r.P <= alpha*(1+1e-9) {
			continue
		}
		lo, hi = min(lo, edges[i]), max(hi, edges[i+1])
		if i == 0 {
			lo = math.Inf(-1)
		}
		if i == len(edges)-2 {
			hi = math.Inf(1)
		}
	}
	return lo, hi
}

func TestHodgesLehmannRefuses(t *testing.T) {
	for _, c := range []struct {
		a, b  []float64
		level float64
	}{
		{nil, []float64{1}, 0.9}, {[]float64{1}, nil, 0.9},
		{[]float64{1}, []float64{inf}, 0.9}, {[]float64{math.NaN()}, []float64{1}, 0.9},
		{[]float64{1}, []float64{1}, 1}, {[]float64{1}, []float64{1}, 0},
	} {
		if s, ok := stat.HodgesLehmann(c.a, c.b, c.level); ok {
			t.Errorf("%+v: got %+v", c, s)
		}
	}
}

func TestHodgesLehmannLarge(t *testing.T) {
	exact, _ := stat.HodgesLehmann(seq(0, 50), seq(5, 50), 0.95)
	large, _ := stat.HodgesLehmann(seq(0, 51), seq(5, 51), 0.95)
	if exact.Estimate != 5 || large.Estimate != 5 {
		t.Errorf("estimates %v and %v, want 5", exact.Estimate, large.Estimate)
	}
	if math.Abs(exact.Lo-large.Lo) > 1 || math.Abs(exact.Hi-large.Hi) > 1 || large.Lo >= 5 {
		t.Errorf("exact [%v, %v], approximate [%v, %v]", exact.Lo, exact.Hi, large.Lo, large.Hi)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{
		{[]float64{3}, 3}, {[]float64{1, 2}, 1.5}, {[]float64{1, 2, 9}, 2},
		{[]float64{1, inf, inf, inf}, inf}, {[]float64{1, 2, inf, inf}, inf}, {[]float64{1, 2, 3, inf}, 2.5},
	} {
		if got := stat.Median(c.in); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
	if got := stat.Median(nil); !math.IsNaN(got) {
		t.Errorf("Median(nil) = %v", got)
	}
}
