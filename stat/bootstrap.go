package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// The choices of the time-block bootstrap.
const (
	maxBlocks      = 20   // of one run: long enough to hold its correlation, enough to vary
	minBlocks      = 5    // fewer blocks say nothing of the spread
	perBlock       = 10   // least mean number of values of a block
	BootstrapTimes = 1000 // resamples
)

// Timed is one request of a run.
type Timed struct {
	At time.Duration // since the run's start
	Sample
}

// Blocks is one run cut into stretches of equal time. Requests that follow each
// other are alike (a queue, a cache, a neighbour), so what is drawn again is a
// stretch, never a request.
type Blocks [][]Sample

// CutBlocks cuts a run, in any order, into at most 20 blocks of equal time with
// a mean of at least 10 values; blocks without a value are left out. nil where
// fewer than 5 remain: the run is too short to say anything.
func CutBlocks(run []Timed) Blocks {
	n := min(maxBlocks, len(run)/perBlock)
	if n < minBlocks {
		return nil
	}
	first, last := run[0].At, run[0].At
	for _, x := range run {
		first, last = min(first, x.At), max(last, x.At)
	}
	width := (last-first)/time.Duration(n) + 1
	cut := make(Blocks, n)
	for _, x := range run {
		i := int((x.At - first) / width)
		cut[i] = append(cut[i], x.Sample)
	}
	cut = slices.DeleteFunc(cut, func(b []Sample) bool { return len(b) == 0 })
	if len(cut) < minBlocks {
		return nil
	}
	return cut
}

// draw is a run of as many blocks, drawn with replacement.
func (b Blocks) draw(rng *rand.Rand, into []Sample) []Sample {
	into = into[:0]
	for range b {
		into = append(into, b[rng.IntN(len(b))]...)
	}
	return into
}

// BlockBootstrap is the percentile interval of the shift of a figure from the
// runs of a to those of b: each run's blocks are drawn again 1000 times, the
// figure taken of each, and the medians of the two sides subtracted. It sees
// how a run varies within itself and nothing of how runs differ from each
// other, so that it cries wolf where they do (13 % of equal pairs at 3 % of
// spread between runs): it is indicative and convicts nobody. figure returns
// false where the samples have none. ok is false where a run has no blocks or
// more than 1 in 20 draws has no finite shift. The same seed gives the same
// interval.
func BlockBootstrap(a, b []Blocks, figure func([]Sample) (float64, bool), level float64, seed uint64) (lo, hi float64, ok bool) {
	if !usable(a) || !usable(b) || level <= 0 || level >= 1 {
		return 0, 0, false
	}
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	var buf []Sample
	side := func(runs []Blocks) float64 {
		var figures []float64
		for _, r := range runs {
			buf = r.draw(rng, buf)
			if x, ok := figure(buf); ok {
				figures = append(figures, x)
			}
		}
		slices.Sort(figures)
		return Median(figures)
	}
	var shifts []float64
	for range BootstrapTimes {
		if d := side(b) - side(a); !math.IsNaN(d) && !math.IsInf(d, 0) {
			shifts = append(shifts, d)
		}
	}
	if len(shifts) < BootstrapTimes*19/20 {
		return 0, 0, false
	}
	slices.Sort(shifts)
	cut := int(float64(len(shifts)) * (1 - level) / 2)
	return shifts[cut], shifts[len(shifts)-1-cut], true
}

func usable(runs []Blocks) bool {
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(b Blocks) bool { return len(b) < minBlocks })
}
