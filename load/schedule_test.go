package load

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// times draws a whole schedule, in seconds.
func times(t testing.TB, p Phase, seed uint64, shard Shard) []float64 {
	t.Helper()
	s, err := p.Schedule(seed, shard)
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for due, ok := s.Next(); ok; due, ok = s.Next() {
		if due < 0 || due >= p.Span() {
			t.Fatalf("due at %v, the phase lasts %v", due, p.Span())
		}
		if n := len(out); n > 0 && due.Seconds() < out[n-1] {
			t.Fatalf("arrival %d is due before the one before", n)
		}
		out = append(out, due.Seconds())
	}
	return out
}

func gaps(at []float64) []float64 {
	var out []float64
	for i := 1; i < len(at); i++ {
		out = append(out, at[i]-at[i-1])
	}
	return out
}

func moments(xs []float64) (mean, cv float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	v := 0.0
	for _, x := range xs {
		v += (x - mean) * (x - mean) / float64(len(xs)-1)
	}
	return mean, math.Sqrt(v) / mean
}

// kolmogorov is the largest distance between the sample's distribution
// function and the given one.
func kolmogorov(xs []float64, cdf func(float64) float64) float64 {
	slices.Sort(xs)
	d, n := 0.0, float64(len(xs))
	for i, x := range xs {
		f := cdf(x)
		d = max(d, math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n))
	}
	return d
}

func TestConstantIsExact(t *testing.T) {
	got := times(t, Phase{Arrivals: KindConstant, Rate: 3, Duration: 2 * time.Second, Warmup: time.Second}, 1, Shard{})
	if len(got) != 9 || got[0] != 0 || math.Abs(got[8]-8.0/3) > 1e-9 {
		t.Errorf("3/s for 3 s: %v", got)
	}
	// The millionth arrival is where it belongs: nothing adds up on the way.
	p := Phase{Arrivals: KindConstant, Rate: 1000.0 / 3, Duration: time.Hour}
	if far := times(t, p, 1, Shard{}); len(far) != 1_200_000 || math.Abs(far[999_999]-999_999*0.003) > 1e-9 {
		t.Errorf("%d arrivals, the millionth at %v", len(far), far[999_999])
	}
}

// Poisson: the count within five of its deviations, the times between
// exponential (Kolmogorov–Smirnov at p = 0.001), no memory from one to the next.
func TestPoissonIsPoisson(t *testing.T) {
	for seed := range uint64(5) {
		at := times(t, Phase{Rate: 200, Duration: 100 * time.Second}, seed, Shard{})
		if n := float64(len(at)); math.Abs(n-20000) > 5*math.Sqrt(20000) {
			t.Errorf("seed %d: %v arrivals, want about 20000", seed, n)
		}
		between := gaps(at)
		if r := neighbours(between); math.Abs(r) > 5/math.Sqrt(20000) {
			t.Errorf("seed %d: one time tells of the next, r = %.4f", seed, r)
		}
		d := kolmogorov(between, func(x float64) float64 { return 1 - math.Exp(-200*x) })
		if limit := 1.95 / math.Sqrt(float64(len(between))); d > limit {
			t.Errorf("seed %d: distance from exponential %.4f, limit %.4f", seed, d, limit)
		}
	}
}

func neighbours(xs []float64) float64 {
	mean, cv := moments(xs)
	sum := 0.0
	for i := 1; i < len(xs); i++ {
		sum += (xs[i] - mean) * (xs[i-1] - mean)
	}
	return sum / float64(len(xs)-1) / (mean * cv * mean * cv)
}

func TestGammaHasItsVariation(t *testing.T) {
	for _, cv := range []float64{0.2, 0.5, 1, 2, 4} {
		between := gaps(times(t, Phase{Arrivals: KindGamma, CV: cv, Rate: 500, Duration: 100 * time.Second}, 7, Shard{}))
		mean, got := moments(between)
		if math.Abs(mean*500-1) > 5*cv/math.Sqrt(50000) || math.Abs(got/cv-1) > 0.05 {
			t.Errorf("cv %v: mean %v, cv %v", cv, mean*500, got)
		}
	}
}

// The rate of any shape is its curve's: in every tenth of the phase as many
// arrivals as its integral says.
func TestShapesFollowTheirCurve(t *testing.T) {
	for _, p := range []Phase{
		{Arrivals: KindRamp, From: 10, To: 400, Duration: 60 * time.Second, Warmup: 6 * time.Second},
		{Arrivals: KindRamp, From: 300, To: 0, Duration: 60 * time.Second},
		{Arrivals: KindRamp, From: 0, To: 300, Duration: 60 * time.Second},
		{Arrivals: KindSteps, Steps: []Rate{50, 0, 200}, Duration: 60 * time.Second},
		{Arrivals: KindSpike, Rate: 20, Spike: Spike{Rate: 500, At: 20 * time.Second, For: 5 * time.Second}, Duration: 60 * time.Second, Warmup: 3 * time.Second},
	} {
		for _, cv := range []float64{0, 1} {
			p.CV = cv
			at := times(t, p, 3, Shard{})
			c := p.curve()
			for i := range 10 {
				low, high := p.Span().Seconds()*float64(i)/10, p.Span().Seconds()*float64(i+1)/10
				want := due(c, high) - due(c, low)
				got := 0.0
				for _, x := range at {
					if x >= low && x < high {
						got++
					}
				}
				if slack := 2 + 5*cv*math.Sqrt(want); math.Abs(got-want) > slack {
					t.Errorf("%s cv %v, tenth %d: %v arrivals, the curve says %.1f", p.Arrivals, cv, i, got, want)
				}
			}
		}
	}
}

// due is how many arrivals a curve has due until t, by summing small steps.
func due(c curve, t float64) float64 {
	const steps = 20000
	sum := 0.0
	for i := range steps {
		sum += c.at((float64(i)+0.5)/steps*t) * t / steps
	}
	return sum
}

// The inverse of a curve's integral is its inverse.
func TestCurveInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c curve
		for range rapid.IntRange(1, 4).Draw(t, "stretches") {
			c = c.add(time.Duration(rapid.IntRange(1, 1e11).Draw(t, "length")),
				Rate(rapid.Float64Range(0, 1000).Draw(t, "from")), Rate(rapid.Float64Range(0, 1000).Draw(t, "to")))
		}
		n := rapid.Float64Range(0, 1).Draw(t, "part") * c.total()
		at, i, ok := c.when(n, 0)
		if !ok {
			return // at the very end
		}
		p := c[i]
		x := at.Seconds() - p.start
		back := p.before + p.from*x + (p.to-p.from)/p.length*x*x/2
		if math.Abs(back-n) > 1e-5*(1+n) {
			t.Fatalf("until %v s %v arrivals are due, want %v", at.Seconds(), back, n)
		}
	})
}

func TestSameSeedSamePlan(t *testing.T) {
	p := Phase{Arrivals: KindGamma, CV: 2, Rate: 50, Duration: 20 * time.Second}
	a, b, other := times(t, p, 9, Shard{}), times(t, p, 9, Shard{}), times(t, p, 10, Shard{})
	if !slices.Equal(a, b) || slices.Equal(a, other) {
		t.Errorf("same seed equal %t, another seed equal %t", slices.Equal(a, b), slices.Equal(a, other))
	}
}

// Shards partition the schedule exactly, and agree on what each arrival asks.
func TestShardsPartition(t *testing.T) {
	p := Phase{Rate: 40, Duration: 20 * time.Second}
	whole := times(t, p, 5, Shard{})
	for _, n := range []int{1, 2, 3, 7} {
		merged := make([]float64, len(whole))
		count := 0
		for i := 1; i <= n; i++ {
			shard := Shard{I: i, N: n}
			for k, at := range times(t, p, 5, shard) {
				merged[shard.index(k)] = at
				count++
			}
		}
		if count != len(whole) || !slices.Equal(merged, whole) {
			t.Errorf("%d shards: %d arrivals of %d, equal %t", n, count, len(whole), slices.Equal(merged, whole))
		}
		parts := 0
		for i := 1; i <= n; i++ {
			parts += Shard{I: i, N: n}.share(10)
		}
		if parts != 10 {
			t.Errorf("%d shards share 10 as %d", n, parts)
		}
	}
}

func TestPickByWeight(t *testing.T) {
	scenarios := []Scenario{{Name: "a", Weight: 6}, {Name: "b"}, {Name: "c", Weight: 3}}
	p := newPicker(4, scenarios)
	var count [3]int
	for i := range 100_000 {
		count[p.pick(0, i)]++
	}
	for i, want := range []float64{60000, 10000, 30000} {
		if math.Abs(float64(count[i])-want) > 5*math.Sqrt(want) {
			t.Errorf("scenario %d: %d of 100000, want about %v", i, count[i], want)
		}
	}
	if fmt.Sprint(picks(p, 1)) == fmt.Sprint(picks(p, 0)) {
		t.Error("two phases pick alike")
	}
	if fmt.Sprint(picks(newPicker(4, scenarios), 0)) != fmt.Sprint(picks(p, 0)) {
		t.Error("the same seed picks otherwise")
	}
}

func picks(p picker, phase int) (out []int) {
	for i := range 50 {
		out = append(out, p.pick(phase, i))
	}
	return out
}
