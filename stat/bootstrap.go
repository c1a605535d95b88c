package stat

import (
	"cmp"
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
	V  float64       // +Inf where the value never came
}

// Blocks is one run cut into stretches of equal time. Requests that follow each
// other are alike (a queue, a cache, a neighbour), so what is drawn again is a
// stretch, never a request.
type Blocks struct {
	n      int       // stretches that hold a value
	values []float64 // of the whole run, sorted, so that a draw is sorted too
	block  []int     // the stretch of each value, 0 to n−1
}

// CutBlocks cuts a run, in any order, into at most 20 blocks of equal time with
// a mean of at least 10 values. Blocks without a value do not count. ok is false
// where fewer than 5 remain: the run is too short to say anything.
func CutBlocks(run []Timed) (b Blocks, ok bool) {
	n := min(maxBlocks, len(run)/perBlock)
	if n < minBlocks {
		return Blocks{}, false
	}
	run = slices.Clone(run)
	slices.SortFunc(run, func(x, y Timed) int { return cmp.Compare(x.V, y.V) })
	first, last := run[0].At, run[0].At
	for _, x := range run {
		first, last = min(first, x.At), max(last, x.At)
	}
	width := (last-first)/time.Duration(n) + 1
	number := make([]int, n) // 1-based number of each stretch among those that hold a value
	for _, x := range run {
		i := int((x.At - first) / width)
		if number[i] == 0 {
			b.n++
			number[i] = b.n
		}
		b.values, b.block = append(b.values, x.V), append(b.block, number[i]-1)
	}
	return b, b.n >= minBlocks
}

// draw is a run of as many blocks, drawn with replacement: its values, sorted.
func (b Blocks) draw(rng *rand.Rand, into []float64) []float64 {
	var times [maxBlocks]int
	for range b.n {
		times[rng.IntN(b.n)]++
	}
	into = into[:0]
	for i, v := range b.values {
		for range times[b.block[i]] {
			into = append(into, v)
		}
	}
	return into
}

// BlockBootstrap is the percentile interval of the shift of a figure from the
// runs of a to those of b: each run's blocks are drawn again 1000 times, the
// figure taken of each draw, and the medians of the two sides subtracted. It
// sees how a run varies within itself and nothing of how runs differ from each
// other, so that it cries wolf where they do (13 % of equal pairs at 3 % of
// spread between runs): it is indicative and convicts nobody. figure gets sorted
// values and returns NaN where they have none. ok is false where a run was too
// short to be cut or more than 1 in 20 draws has no finite shift. The same seed
// gives the same interval.
func BlockBootstrap(a, b []Blocks, figure func(sorted []float64) float64, level float64, seed uint64) (lo, hi float64, ok bool) {
	if !usable(a) || !usable(b) || level <= 0 || level >= 1 {
		return 0, 0, false
	}
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	var buf []float64
	side := func(runs []Blocks) float64 {
		figures := make([]float64, len(runs))
		for i, r := range runs {
			buf = r.draw(rng, buf)
			figures[i] = figure(buf)
		}
		slices.Sort(figures) // NaN comes first, and is the median's if there are many
		return Median(figures)
	}
	shifts := make([]float64, 0, BootstrapTimes)
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
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(b Blocks) bool { return b.n < minBlocks })
}
