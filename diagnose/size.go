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
	lo, hi      float64  // the size lies in here
	over, under interval // sizes that explain the most flushes as above, as below
	isOver      bool     // as above explains as many as any
	isUnder     bool     // as below does
	holds       bool
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
	typical, ok := median(sizesOf(fs))
	if !ok {
		return sizeRule{}
	}
	var over, under []interval
	for _, f := range fs {
		over = append(over, f.above(typical))
		under = append(under, f.below(typical))
	}
	a, na := deepest(over)
	b, nb := deepest(under)
	rule := sizeRule{over: a, under: b, isOver: na >= nb, isUnder: nb >= na}
	switch {
	case rule.isOver && rule.isUnder:
		rule.lo, rule.hi = min(a.lo, b.lo), max(a.hi, b.hi)
	case rule.isOver:
		rule.lo, rule.hi = a.lo, a.hi
	default:
		rule.lo, rule.hi = b.lo, b.hi
	}
	rule.holds = float64(max(na, nb)) >= agree*float64(len(fs))
	return rule
}

// above is the sizes of which the flush may be the first that reached them.
func (f flush) above(typical float64) interval {
	s := f.bytes / max(1, math.Round(f.bytes/typical))
	return interval{s - max(1, f.last), s}
}

// below is the sizes that the flush would have passed with one more frame.
func (f flush) below(typical float64) interval {
	s := f.bytes / max(1, math.Round(f.bytes/typical))
	return interval{s, s + max(1, f.next)}
}

// explained says which flushes one and the same size of the rule explains.
func (r sizeRule) explained(fs []flush, typical float64) []flush {
	var over, under []flush
	for _, f := range fs {
		if r.isOver && f.above(typical).holds(r.over) {
			over = append(over, f)
		}
		if r.isUnder && f.below(typical).holds(r.under) {
			under = append(under, f)
		}
	}
	if len(over) >= len(under) {
		return over
	}
	return under
}

func (v interval) holds(w interval) bool { return v.lo <= w.lo && w.hi <= v.hi }

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

// exactly narrows a rule whose flushes cut frames: they are the size itself.
func (r *sizeRule) exactly(size float64) {
	if r.holds && size >= r.lo && size <= r.hi {
		r.lo, r.hi = size, size
	}
}

// about is the roundest size in the rule's range: people choose round ones.
func (r sizeRule) about() float64 {
	for _, step := range []float64{65536, 32768, 16384, 8192, 4096, 1000, 1024, 500, 100, 10} {
		if x := math.Floor(r.hi/step) * step; x >= r.lo && x > 0 {
			return x
		}
	}
	return math.Round((r.lo + r.hi) / 2)
}
