package stat_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/stat"
)

var inf = math.Inf(1)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(a), math.Abs(b)) }

// seq is from, from+1, … of n values.
func seq(from float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = from + float64(i)
	}
	return out
}

func TestMannWhitneyByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		u, p float64
	}{
		// All of B above all of A: one deal of C(2k,k), and its mirror image.
		{"3v3 apart", seq(0, 3), seq(10, 3), 9, 2.0 / 20},
		{"4v4 apart", seq(0, 4), seq(10, 4), 16, 2.0 / 70},
		{"5v5 apart", seq(0, 5), seq(10, 5), 25, 2.0 / 252},
		{"5v5 apart, B below", seq(10, 5), seq(0, 5), 0, 2.0 / 252},
		{"10v10 apart", seq(0, 10), seq(100, 10), 100, 2.0 / 184756},
		{"2v3 apart", seq(0, 2), seq(10, 3), 6, 2.0 / 10},
		// U = 2 of 25: 1+1+2 = 4 of 252 deals have U ≤ 2 (partitions of 0, 1, 2).
		{"5v5 U=2", []float64{1, 2, 3, 4, 7}, []float64{5, 6, 8, 9, 10}, 23, 2 * 4.0 / 252},
		// Critical values of the printed tables, α = 0.05 two-sided: 6v6 U = 5
		// (0.0411), 8v8 U = 13 (0.0499).
		{"6v6 U=5", []float64{1, 2, 3, 4, 5, 11}, []float64{6, 7, 8, 9, 10, 12}, 31, 38.0 / 924},
		// All equal: nothing can be told.
		{"all tied", []float64{5, 5, 5}, []float64{5, 5, 5}, 4.5, 1},
		{"1v1", []float64{1}, []float64{2}, 1, 1},
		// One side never answered: its values tie at the end.
		{"never", seq(0, 5), []float64{inf, inf, inf, inf, inf}, 25, 2.0 / 252},
		// {1,2} against {2,3}: doubled ranks 2 5 5 8; A has 7 or less in 2 of 6
		// deals, so p = 4/6; U = 3 pairs above and one tie.
		{"a tie", []float64{1, 2}, []float64{2, 3}, 3.5, 4.0 / 6},
	} {
		got, ok := stat.MannWhitney(c.a, c.b)
		if !ok || !got.Exact || !near(got.U, c.u) || !near(got.P, c.p) {
			t.Errorf("%s: got %+v %v, want U %v p %v", c.name, got, ok, c.u, c.p)
		}
		if !near(got.Greater, c.u/float64(len(c.a)*len(c.b))) {
			t.Errorf("%s: P(B>A) = %v", c.name, got.Greater)
		}
	}
}

// TestMannWhitneyTable checks the critical values of U at α = 0.05 two-sided as
// the printed tables give them (Mann & Whitney 1947; any textbook): the largest
// U that is significant.
func TestMannWhitneyTable(t *testing.T) {
	for k, critical := range map[int]int{4: 0, 5: 2, 6: 5, 7: 8, 8: 13, 9: 17, 10: 23, 12: 37, 15: 64, 20: 127} {
		if p := pOfU(k, critical); p > 0.05 {
			t.Errorf("%dv%d U=%d: p = %v, want ≤ 0.05", k, k, critical, p)
		}
		if p := pOfU(k, critical+1); p <= 0.05 {
			t.Errorf("%dv%d U=%d: p = %v, want > 0.05", k, k, critical+1, p)
		}
	}
}

// pOfU is the p-value of two samples of k whose smaller U is u: the lowest k
// places, the topmost of them moved up one place at a time u times in all.
func pOfU(k, u int) float64 {
	place := make([]int, k)
	for i := range place {
		place[i] = i
	}
	for i := k - 1; i >= 0 && u > 0; i-- {
		step := min(u, k)
		place[i] += step
		u -= step
	}
	var a, b []float64
	for i := range 2 * k {
		if slices.Contains(place, i) {
			a = append(a, float64(i))
		} else {
			b = append(b, float64(i))
		}
	}
	got, _ := stat.MannWhitney(a, b)
	return got.P
}

// TestMannWhitneyBruteForce deals the pooled values to two samples in every
// possible way, counts U by comparing pairs, and takes twice the smaller tail.
func TestMannWhitneyBruteForce(t *testing.T) {
	value := rapid.SampledFrom([]float64{0, 1, 1, 2, 3, 5, 8, inf, math.Inf(-1)})
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(value, 1, 6).Draw(t, "a")
		b := rapid.SliceOfN(value, 1, 6).Draw(t, "b")
		got, ok := stat.MannWhitney(a, b)
		if !ok {
			t.Fatal("not ok")
		}
		if u := pairsAbove(a, b); u != got.U {
			t.Fatalf("U = %v, by pairs %v", got.U, u)
		}
		if p := permuted(a, b); !near(p, got.P) {
			t.Fatalf("p = %v, by permutation %v", got.P, p)
		}
		back, _ := stat.MannWhitney(b, a)
		if !near(back.P, got.P) || !near(back.Greater, 1-got.Greater) {
			t.Fatalf("sides swapped: %+v, %+v", got, back)
		}
		if got.P < stat.LeastP(len(a), len(b))-1e-12 {
			t.Fatalf("p = %v below the least %v", got.P, stat.LeastP(len(a), len(b)))
		}
	})
}

func pairsAbove(a, b []float64) float64 {
	u := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case y > x:
				u++
			case y == x:
				u += 0.5
			}
		}
	}
	return u
}

func permuted(a, b []float64) float64 {
	pool := slices.Concat(a, b)
	seen := pairsAbove(a, b)
	below, above, all := 0.0, 0.0, 0.0
	for set := range uint(1) << len(pool) {
		if bits.OnesCount(set) != len(a) {
			continue
		}
		var x, y []float64
		for i, v := range pool {
			if set>>i&1 == 1 {
				x = append(x, v)
			} else {
				y = append(y, v)
			}
		}
		u := pairsAbove(x, y)
		all++
		if u <= seen {
			below++
		}
		if u >= seen {
			above++
		}
	}
	return min(1, 2*min(below, above)/all)
}

// TestMannWhitneyLarge holds the approximation, used above 100 values, against
// the enumeration at 100: samples that interleave but for a shift.
func TestMannWhitneyLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shift := range []float64{0, 0.2, 0.4, 0.6} {
		a, b := make([]float64, 50), make([]float64, 50)
		for i := range a {
			a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()+shift
		}
		exact, _ := stat.MannWhitney(a, b)
		// One value more, in the middle of the rest: it changes p by little.
		more, _ := stat.MannWhitney(append(slices.Clone(a), shift/2), b)
		if !exact.Exact || more.Exact {
			t.Fatalf("exact at 100: %v, at 101: %v", exact.Exact, more.Exact)
		}
		if math.Abs(exact.P-more.P) > 0.05*exact.P+0.01 {
			t.Errorf("shift %v: exact p %v, approximate %v", shift, exact.P, more.P)
		}
	}
	tied := make([]float64, 60)
	if got, _ := stat.MannWhitney(tied, tied); got.P != 1 {
		t.Errorf("all tied: p = %v", got.P)
	}
}

func TestMannWhitneyRefuses(t *testing.T) {
	for _, c := range [][2][]float64{{nil, {1}}, {{1}, nil}, {{math.NaN()}, {1}}} {
		if got, ok := stat.MannWhitney(c[0], c[1]); ok {
			t.Errorf("%v: got %+v", c, got)
		}
	}
}

func TestLeastP(t *testing.T) {
	for k, want := range map[int]float64{0: 1, 1: 1, 2: 2.0 / 6, 3: 0.1, 4: 2.0 / 70, 7: 2.0 / 3432} {
		if got := stat.LeastP(k, k); !near(got, want) {
			t.Errorf("LeastP(%d, %d) = %v, want %v", k, k, got, want)
		}
	}
}

func ExampleMannWhitney() {
	before := []float64{412, 405, 420, 399, 408} // median ttft of five runs, ms
	after := []float64{455, 448, 461, 450, 459}
	t, _ := stat.MannWhitney(before, after)
	fmt.Printf("p = %.4f, P(after > before) = %.2f\n", t.P, t.Greater)
	// Output: p = 0.0079, P(after > before) = 1.00
}
