package judge_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"weir/judge"
	"weir/stat"
)

// The simulated service: every run is 2,000 requests whose logarithms follow an
// autoregression, and a factor of its own.
const (
	simRequests = 2000
	simSigma    = 0.4  // of the lognormal requests
	simPhi      = 0.9  // correlation of a request with the one before
	simSpread   = 0.03 // sd between runs
	simSeeds    = 300
)

// simulated makes one run of a service: its ttft p50 and p95, its gap p95 and
// its share of complete answers, by nearest rank over its requests.
func simulated(rng *rand.Rand, id string) judge.RunFigures {
	p50, p95 := percentiles(rng, 400*factor(rng))
	_, gap := percentiles(rng, 60*factor(rng))
	failing := 0.02 * math.Exp(0.3*rng.NormFloat64())
	failed := 0
	for range simRequests {
		if rng.Float64() < failing {
			failed++
		}
	}
	values := []float64{p50, p95, gap, 1 - float64(failed)/simRequests}
	r := judge.RunFigures{ID: id, Valid: "valid", Figures: map[judge.Figure]stat.Point{}}
	for i, f := range judge.Headline {
		r.Figures[f] = stat.Point{V: values[i], Is: stat.Exact}
	}
	return r
}

func factor(rng *rand.Rand) float64 { return math.Exp(simSpread * rng.NormFloat64()) }

// percentiles are the nearest-rank p50 and p95 of a run's correlated requests.
func percentiles(rng *rand.Rand, median float64) (p50, p95 float64) {
	zs := make([]float64, simRequests)
	z := rng.NormFloat64()
	step := math.Sqrt(1 - simPhi*simPhi)
	for i := range zs {
		zs[i] = z
		z = simPhi*z + step*rng.NormFloat64()
	}
	at := func(f stat.Fraction) float64 {
		return median * math.Exp(simSigma*nth(zs, f.Rank(simRequests)-1))
	}
	return at(stat.P50), at(stat.P95)
}

// nth puts the k-th smallest value in its place and returns it (Hoare's FIND).
// Sorting whole runs would be most of the time of these tests.
func nth(xs []float64, k int) float64 {
	for lo, hi := 0, len(xs)-1; lo < hi; {
		pivot, i, j := xs[(lo+hi)/2], lo, hi
		for i <= j {
			for xs[i] < pivot {
				i++
			}
			for xs[j] > pivot {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return xs[k]
		}
	}
	return xs[k]
}

// pairs are two sides of ten runs of the same service for each seed, made once
// for all the tests.
var pairs = sync.OnceValue(func() [][2]judge.Side {
	out := make([][2]judge.Side, simSeeds)
	for seed := range out {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		for i := range 10 {
			for side, name := range []string{"a", "b"} {
				out[seed][side].Runs = append(out[seed][side].Runs, simulated(rng, fmt.Sprint(name, i)))
			}
		}
	}
	return out
})

// slowed is the side with every first token 10 % later: of nearest-rank
// quantiles that is 10 % more, exactly.
func slowed(s judge.Side) judge.Side {
	out := judge.Side{}
	for _, r := range s.Runs {
		r.Figures = maps.Clone(r.Figures)
		for _, f := range judge.Headline[:2] {
			r.Figures[f] = stat.Point{V: 1.1 * r.Figures[f].V, Is: stat.Exact}
		}
		out.Runs = append(out.Runs, r)
	}
	return out
}

func first(s judge.Side, k int) judge.Side { return judge.Side{Runs: s.Runs[:k]} }

// strict leaves nothing between a shift and a verdict but the test itself, so
// that the family's false alarms are those of the statistics, not of the margin.
func strict() judge.CompareOptions {
	return judge.CompareOptions{Margin: 1e-12, Floors: map[string]float64{"ms": 0, "share": 0}}
}

// upTo is the share that simSeeds may show of a true share of p: three standard
// deviations of sampling above it.
func upTo(p float64) float64 { return p + 3*math.Sqrt(p*(1-p)/simSeeds) }

// TestSimulatedEqualSides: two sides of the same service. The family of four is
// called different in at most 5 % of comparisons, at 5 v 5 and at 10 v 10, even
// with no margin; the margin only takes some away. At 4 v 4 it never is, and the
// comparison says beforehand that it cannot be.
func TestSimulatedEqualSides(t *testing.T) {
	alarms := map[string]int{}
	for _, p := range pairs() {
		a, b := p[0], p[1]
		count := func(name string, k int, o judge.CompareOptions) {
			if c := compare(t, first(a, k), first(b, k), o); alarmed(c) {
				alarms[name]++
			}
		}
		count("5v5", 5, strict())
		count("10v10", 10, strict())
		count("10v10 with margin", 10, judge.CompareOptions{})
		count("4v4", 4, strict())
		count("4v4 one figure", 4, one(strict(), 0))
	}
	t.Logf("false alarms in %d: %v", simSeeds, alarms)
	for _, name := range []string{"5v5", "10v10", "4v4 one figure"} {
		if share := float64(alarms[name]) / simSeeds; share > upTo(0.05) {
			t.Errorf("%s: false alarms in %.3f of comparisons, want at most 0.05 (%.3f with sampling error)", name, share, upTo(0.05))
		}
	}
	if n := alarms["10v10 with margin"]; n > alarms["10v10"] {
		t.Errorf("with the margin there are %d false alarms, without it %d", n, alarms["10v10"])
	}
	if n := alarms["4v4"]; n > 0 {
		t.Errorf("4 v 4 convicted %d times on four figures", n)
	}
	if judge.CanConvict(4, 4) || judge.Forewarn(4, 4) == "" {
		t.Error("nothing says before a run that 4 v 4 cannot convict on four figures")
	}
}

// alarmed reports whether any figure at all was called slower or faster.
func alarmed(c judge.Comparison) bool {
	return slices.ContainsFunc(c.Figures, func(v judge.FigureVerdict) bool {
		return v.Verdict == judge.Slower || v.Verdict == judge.Faster
	})
}

func one(o judge.CompareOptions, i int) judge.CompareOptions {
	o.Gated, o.Beside = judge.Headline[i:i+1], []judge.Figure{}
	return o
}

// TestSimulatedSlowdown: B's first token comes 10 % later. At 10 v 10 that is
// found on ttft p50 in at least 85 of 100 comparisons, as one of the headline
// four and alone, and never called faster.
func TestSimulatedSlowdown(t *testing.T) {
	found := map[string]int{}
	for seed, p := range pairs() {
		a, b := p[0], slowed(p[1])
		for name, o := range map[string]judge.CompareOptions{"headline": {}, "alone": one(judge.CompareOptions{}, 0)} {
			switch v := compare(t, a, b, o).Figures[0]; v.Verdict {
			case judge.Slower:
				found[name]++
			case judge.Faster:
				t.Errorf("seed %d, %s: called faster: %+v", seed, name, v)
			}
		}
	}
	t.Logf("found in %d: %v", simSeeds, found)
	for name, n := range found {
		if share := float64(n) / simSeeds; share < 0.85 {
			t.Errorf("%s: +10 %% found in %.3f of comparisons, want at least 0.85", name, share)
		}
	}
	if len(found) != 2 {
		t.Errorf("found only in %v", found)
	}
}

// TestSimulatedCoverage: the 95 % interval of the shift between equal sides holds
// 0 in at least 95 % of comparisons.
func TestSimulatedCoverage(t *testing.T) {
	held := 0
	for _, p := range pairs() {
		c := compare(t, first(p[0], 6), first(p[1], 6), one(judge.CompareOptions{}, 0))
		if i := c.Figures[0].Interval; i[0] <= 0 && 0 <= i[1] {
			held++
		}
	}
	if share := float64(held) / simSeeds; share < 0.95-3*math.Sqrt(0.95*0.05/simSeeds) {
		t.Errorf("the interval held 0 in %.3f of comparisons", share)
	}
}

func compare(t *testing.T, a, b judge.Side, o judge.CompareOptions) judge.Comparison {
	t.Helper()
	c, err := judge.Compare(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
