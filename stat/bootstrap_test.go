package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weir/stat"
)

// chain is a run of n requests, one every 10 ms, whose logarithms follow an
// autoregression with the given φ and a marginal deviation of σ.
func chain(rng *rand.Rand, n int, median, sigma, phi float64) []stat.Timed {
	out := make([]stat.Timed, n)
	z := rng.NormFloat64()
	for i := range out {
		if i > 0 {
			z = phi*z + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		}
		out[i] = stat.Timed{At: time.Duration(i) * 10 * time.Millisecond, V: median * math.Exp(sigma*z)}
	}
	return out
}

func median(sorted []float64) float64 {
	v, _ := stat.Quantile(sorted, stat.P50)
	return v
}

// cut is a run's blocks.
func cut(t *testing.T, run []stat.Timed) stat.Blocks {
	t.Helper()
	b, ok := stat.CutBlocks(run)
	if !ok {
		t.Fatalf("%d requests could not be cut", len(run))
	}
	return b
}

func TestCutBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	if _, ok := stat.CutBlocks(chain(rng, 49, 100, 0.4, 0)); ok {
		t.Error("49 requests were cut")
	}
	if _, ok := stat.CutBlocks(make([]stat.Timed, 500)); ok {
		t.Error("requests that all began at once were cut")
	}
	run := chain(rng, 100, 100, 0.4, 0)
	before := slices.Clone(run)
	cut(t, run)
	if !slices.Equal(run, before) {
		t.Error("the run was changed")
	}
}

// TestBlockBootstrapDrawsStretches: in a run whose value is the number of its
// stretch, a draw without one of the stretches is common, and the smallest value
// of a draw moves; were single requests drawn, 100 of each, it never would.
func TestBlockBootstrapDrawsStretches(t *testing.T) {
	run := make([]stat.Timed, 2000)
	for i := range run {
		run[i] = stat.Timed{At: time.Duration(i) * time.Millisecond, V: float64(i / 100)}
	}
	b := []stat.Blocks{cut(t, run)}
	least := func(sorted []float64) float64 { return sorted[0] }
	lo, hi, ok := stat.BlockBootstrap(b, b, least, 0.95, 1)
	if !ok || lo > -1 || hi < 1 {
		t.Errorf("the least value moved by [%v, %v] %v", lo, hi, ok)
	}
}

// TestBlockBootstrapSeesCorrelation: with correlated requests and no spread
// between runs the interval covers no shift far oftener than one that draws
// single requests would (which misses it in more than half of the pairs).
func TestBlockBootstrapSeesCorrelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const pairs = 30
	missed := 0
	for i := range pairs {
		a, b := cut(t, chain(rng, 600, 100, 0.4, 0.9)), cut(t, chain(rng, 600, 100, 0.4, 0.9))
		lo, hi, ok := stat.BlockBootstrap([]stat.Blocks{a}, []stat.Blocks{b}, median, 0.95, uint64(i))
		if !ok || lo > hi {
			t.Fatalf("pair %d: [%v, %v] %v", i, lo, hi, ok)
		}
		if lo > 0 || hi < 0 {
			missed++
		}
	}
	if missed > pairs/4 {
		t.Errorf("%d of %d equal pairs were called different", missed, pairs)
	}
}

func TestBlockBootstrapFindsAShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	a := []stat.Blocks{cut(t, chain(rng, 2000, 100, 0.4, 0))}
	b := []stat.Blocks{cut(t, chain(rng, 2000, 130, 0.4, 0))}
	lo, hi, ok := stat.BlockBootstrap(a, b, median, 0.95, 1)
	if !ok || lo < 15 || hi > 45 || lo > 30 || hi < 30 {
		t.Errorf("got [%v, %v] %v, want an interval around 30", lo, hi, ok)
	}
	lo2, hi2, _ := stat.BlockBootstrap(a, b, median, 0.95, 1)
	if lo != lo2 || hi != hi2 {
		t.Errorf("the same seed gave [%v, %v], then [%v, %v]", lo, hi, lo2, hi2)
	}
}

func TestBlockBootstrapRefuses(t *testing.T) {
	good := []stat.Blocks{cut(t, chain(rand.New(rand.NewPCG(1, 1)), 100, 1, 1, 0))}
	none := func([]float64) float64 { return math.NaN() }
	for name, c := range map[string]struct {
		a, b   []stat.Blocks
		figure func([]float64) float64
	}{
		"no runs":   {nil, good, median},
		"no blocks": {good, make([]stat.Blocks, 1), median},
		"no figure": {good, good, none},
	} {
		if lo, hi, ok := stat.BlockBootstrap(c.a, c.b, c.figure, 0.95, 1); ok {
			t.Errorf("%s: got [%v, %v]", name, lo, hi)
		}
	}
}
