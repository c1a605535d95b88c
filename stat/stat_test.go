package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRank(t *testing.T) {
	for _, c := range []struct {
		f       Fraction
		n, want int
	}{
		{P50, 0, 0}, {P50, 1, 1}, {P50, 2, 1}, {P50, 3, 2}, {P50, 4, 2}, {P95, 20, 19}, {P95, 19, 19}, {P95, 21, 20},
		{P99, 100, 99}, {P99, 101, 100}, {P999, 1000, 999}, {Fraction{1, 1}, 7, 7}, {Fraction{0, 1}, 7, 1},
		{Fraction{29, 100}, 100, 29}, // ⌈0.29·100⌉ in floats is 29, ⌈0.57·100⌉ is 57.000…01 → 58
		{Fraction{57, 100}, 100, 57},
	} {
		if got := c.f.Rank(c.n); got != c.want {
			t.Errorf("rank of %v in %d = %d, want %d", c.f, c.n, got, c.want)
		}
	}
}

// TestFiniteFrom holds the sample sizes of METRICS §8.5.
func TestFiniteFrom(t *testing.T) {
	for f, from := range map[Fraction]int{P50: 6, P90: 36, P95: 72, P99: 368, P999: 3688} {
		for n := 1; n < from; n++ {
			if _, _, ok := Ranks(n, f); ok {
				t.Errorf("%v: an interval from %d values", f, n)
				break
			}
		}
		for _, n := range []int{from, from + 1, from * 2, from * 10} {
			lo, hi, ok := Ranks(n, f)
			if !ok || lo < 1 || hi > n || lo > f.Rank(n) || hi < f.Rank(n) {
				t.Errorf("%v, n=%d: ranks %d to %d, %v", f, n, lo, hi, ok)
			}
		}
	}
}

// TestRanksExact checks the ranks against the binomial sum in exact arithmetic.
func TestRanksExact(t *testing.T) {
	for _, f := range []Fraction{P50, P90, P95, P99} {
		for _, n := range []int{6, 7, 25, 35, 36, 71, 72, 100} {
			lo, hi, ok := Ranks(n, f)
			wantLo, wantHi := exactRanks(n, f)
			if ok != (wantLo >= 1 && wantHi <= n) || ok && (lo != wantLo || hi != wantHi) {
				t.Errorf("%v, n=%d: %d to %d (%v), want %d to %d", f, n, lo, hi, ok, wantLo, wantHi)
			}
		}
	}
}

func exactRanks(n int, f Fraction) (lo, hi int) {
	bar := big.NewRat(25, 1000)
	cdf := make([]*big.Rat, n+1) // P(B ≤ k)
	p, q := big.NewRat(int64(f.A), int64(f.B)), big.NewRat(int64(f.B-f.A), int64(f.B))
	sum := new(big.Rat)
	for k := range cdf {
		term := new(big.Rat).SetInt(new(big.Int).Binomial(int64(n), int64(k)))
		for range k {
			term.Mul(term, p)
		}
		for range n - k {
			term.Mul(term, q)
		}
		sum.Add(sum, term)
		cdf[k] = new(big.Rat).Set(sum)
	}
	for lo < n && cdf[lo].Cmp(bar) <= 0 { // P(B ≤ lo) ≤ bar: lo+1 is still allowed
		lo++
	}
	hi = n + 1
	for hi > 1 && new(big.Rat).Sub(big.NewRat(1, 1), cdf[hi-2]).Cmp(bar) <= 0 { // P(B ≥ hi−1) ≤ bar
		hi--
	}
	return lo, hi
}

// TestCoverage: the interval holds the true quantile in at least 95 % of samples.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs, n = 2000, 80
	for _, f := range []Fraction{P50, P90, P95} {
		lo, hi, _ := Ranks(n, f)
		in := 0
		for range runs {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = rng.Float64()
			}
			slices.Sort(xs)
			if q := f.Float(); xs[lo-1] <= q && q <= xs[hi-1] {
				in++
			}
		}
		if share := float64(in) / runs; share < 0.935 {
			t.Errorf("%v: covered in %.3f of the samples", f, share)
		}
	}
}

func TestLargeSamplesDoNotUnderflow(t *testing.T) {
	for _, n := range []int{100_000, 5_000_000} {
		for _, f := range []Fraction{P50, P99, P999} {
			lo, hi, ok := Ranks(n, f)
			p := f.Float()
			want := 1.96 * math.Sqrt(float64(n)*p*(1-p))
			if !ok || math.Abs(float64(hi-lo)/2-want) > 0.05*want+2 {
				t.Errorf("%v, n=%d: %d to %d", f, n, lo, hi)
			}
		}
	}
}

func TestCensored(t *testing.T) {
	over := func(v float64) Sample { return Sample{V: v, Is: Over} }
	never := Sample{Is: Never}
	for _, c := range []struct {
		name    string
		samples []Sample
		want    Point // p50
	}{
		{"all reached", []Sample{At(3), At(1), At(2)}, Point{2, Exact}},
		{"never in the upper half", []Sample{At(1), never, At(2)}, Point{2, Exact}},
		{"never in the middle", []Sample{At(1), never, never}, Point{Is: IsNever}},
		{"cut early: any value", []Sample{over(0.5), At(1), At(2)}, Point{1, OverLow}},
		{"cut late: above the middle", []Sample{over(9), At(1), At(2)}, Point{2, Exact}},
		{"cut in the middle", []Sample{At(1), over(2), over(3)}, Point{2, OverLow}},
		{"cut or never", []Sample{over(2), never, never}, Point{Is: IsNever}},
		{"missing leaves the set", []Sample{{}, {}, At(1), At(2), At(3)}, Point{2, Exact}},
	} {
		if got := Summarize(c.samples).P50.Point; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestSampleSizes(t *testing.T) {
	var xs []Sample
	for n := 0; n <= 400; n++ {
		s := Summarize(xs)
		for _, q := range []struct {
			name    string
			q       Quantiled
			from, i int // printed from, with interval from
		}{{"p50", s.P50, 3, 6}, {"p90", s.P90, 36, 36}, {"p95", s.P95, 72, 72}, {"p99", s.P99, 368, 368}, {"p999", s.P999, 3688, 3688}} {
			if (q.q.Is != NotGiven) != (n >= q.from) || q.q.HasInterval() != (n >= q.i) {
				t.Fatalf("n=%d: %s is %s, interval %v", n, q.name, q.q.Is, q.q.HasInterval())
			}
		}
		if (len(s.Values) > 0) != (n > 0 && n < 3) || s.N != n {
			t.Fatalf("n=%d: lists %v", n, s.Values)
		}
		xs = append(xs, At(float64(n)))
	}
}

func TestMoments(t *testing.T) {
	s := Summarize([]Sample{At(2), At(4), At(4), At(4), At(5), At(5), At(7), At(9), {Is: Never}, {}})
	if s.Mean.V != 5 || math.Abs(s.StdDev.V-math.Sqrt(32.0/7)) > 1e-12 {
		t.Errorf("mean %v deviation %v", s.Mean, s.StdDev)
	}
	if s.N != 9 || s.Reached != 8 || s.Never != 1 || s.Missing != 1 {
		t.Errorf("counts %+v", s)
	}
	if s.Min != (Point{2, Exact}) || s.Max.Is != IsNever {
		t.Errorf("min %+v max %+v", s.Min, s.Max)
	}
	empty := Summarize(nil)
	if empty.Mean.Is != Missing || empty.StdDev.Is != Missing || empty.Min.Is != NotGiven || empty.P50.Is != NotGiven {
		t.Errorf("of nothing: %+v", empty)
	}
	if Summarize([]Sample{At(1)}).StdDev.Is != Missing {
		t.Error("a deviation of one value")
	}
}

// TestQuantileProperties: order does not matter, a worse sample never improves
// a quantile, and the two views bracket the truth.
func TestQuantileProperties(t *testing.T) {
	sample := rapid.Custom(func(t *rapid.T) Sample {
		return Sample{V: float64(rapid.IntRange(0, 50).Draw(t, "v")), Is: State(rapid.IntRange(1, 3).Draw(t, "is"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(sample, 3, 60).Draw(t, "xs")
		q := Summarize(xs).P50.Point
		shuffled := slices.Clone(xs)
		slices.Reverse(shuffled)
		if got := Summarize(shuffled).P50.Point; got != q {
			t.Fatalf("order changed %+v to %+v", q, got)
		}
		truth := slices.Clone(xs) // what the censored would have shown, had we waited
		for i, x := range truth {
			if x.Is == Over {
				truth[i] = At(x.V + float64(rapid.IntRange(0, 20).Draw(t, "more")))
			}
		}
		real := Summarize(truth).P50.Point
		switch q.Is {
		case Exact:
			if real != q {
				t.Fatalf("said exactly %v, truth %+v", q.V, real)
			}
		case OverLow:
			if real.Is == Exact && real.V < q.V {
				t.Fatalf("said > %v, truth %v", q.V, real.V)
			}
		}
	})
}
