package diagnose

import (
	"cmp"
	"math"
	"slices"
)

// agree is the share of the flushes that must obey a rule for it to stand
// (a choice: a noisy machine breaks some).
const agree = 0.85

// sizeRule is a buffer that is sent when it is full.
type sizeRule struct {
	lo, hi float64 // the size lies in here
	holds  bool
}

// interval is the sizes that explain one flush.
type interval struct{ lo, hi float64 }

// fitSize looks for one buffer size that explains the flushes between the
// first and the last of each answer. A buffer that is sent once it holds S
// bytes sends s with s − last frame < S ≤ s; one that is sent before it would
// overflow sends s with s ≤ S < s + next frame; one that cuts frames sends S
// itself, which both allow. Two buffers sent at once are 2·S. The rule holds
// if some S lies in nearly all of these intervals.
func fitSize(fs []flush) sizeRule {
	var rule sizeRule
	typical, ok := median(sizesOf(fs))
	if !ok {
		return rule
	}
	var over, under []interval
	for _, f := range fs {
		k := max(1, math.Round(f.bytes/typical))
		over = append(over, interval{f.bytes/k - max(1, f.last), f.bytes / k})
		under = append(under, interval{f.bytes / k, f.bytes/k + max(1, f.next)})
	}
	a, na := deepest(over)
	b, nb := deepest(under)
	best, n := a, na
	if nb > na {
		best, n = b, nb
	}
	if na == nb && a.hi >= b.lo { // both explain it: anything between is possible
		best = interval{a.lo, b.hi}
	}
	rule.lo, rule.hi = best.lo, best.hi
	rule.holds = float64(n) >= agree*float64(len(fs))
	return rule
}

func sizesOf(fs []flush) []float64 {
	xs := make([]float64, len(fs))
	for i, f := range fs {
		xs[i] = f.bytes
	}
	return xs
}

// deepest is the range that lies in the most intervals, and in how many.
func deepest(in []interval) (interval, int) {
	type edge struct {
		x    float64
		open int
	}
	var edges []edge
	for _, v := range in {
		edges = append(edges, edge{v.lo, 1}, edge{v.hi, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if c := cmp.Compare(a.x, b.x); c != 0 {
			return c
		}
		return a.open - b.open // each holds one of its edges only: touching ones share nothing
	})
	depth, most, best := 0, 0, interval{}
	for i, e := range edges {
		depth += e.open
		if depth > most {
			most = depth
			best = interval{e.x, edges[i+1].x} // the last edge closes, so there is a next
		}
	}
	return best, most
}

// about is the roundest size in the rule's range: people choose round ones.
func (r sizeRule) about() float64 {
	for _, step := range []float64{65536, 32768, 16384, 8192, 4096, 2048, 1024, 1000, 500, 100, 10} {
		if x := math.Floor(r.hi/step) * step; x >= r.lo && x > 0 {
			return x
		}
	}
	return math.Round((r.lo + r.hi) / 2)
}
