package load

import (
	"math"
	"time"
)

// curve is a rate over time, piecewise linear. Its integral says how many
// arrivals are due until a moment; the inverse of that says when the n-th is.
type curve []piece

// piece is a stretch in which the rate goes evenly from one value to another.
type piece struct {
	start, length float64 // seconds
	from, to      float64 // arrivals a second
	before        float64 // arrivals due before it
}

// add appends a stretch; stretches without length are left out.
func (c curve) add(length time.Duration, from, to Rate) curve {
	if length <= 0 {
		return c
	}
	p := piece{length: seconds(length), from: float64(from), to: float64(to)}
	if n := len(c); n > 0 {
		p.start = c[n-1].start + c[n-1].length
		p.before = c[n-1].before + c[n-1].area()
	}
	return append(c, p)
}

// area is how many arrivals a stretch holds.
func (p piece) area() float64 { return (p.from + p.to) / 2 * p.length }

// total is how many arrivals the whole holds, a fraction included.
func (c curve) total() float64 {
	if len(c) == 0 {
		return 0
	}
	last := c[len(c)-1]
	return last.before + last.area()
}

// at is the rate at a moment.
func (c curve) at(t float64) float64 {
	for _, p := range c {
		if x := t - p.start; x >= 0 && x < p.length {
			return p.from + (p.to-p.from)*x/p.length
		}
	}
	return 0
}

// when is the moment until which n arrivals are due; false beyond the end.
// from is the stretch to look in first: callers ask in rising order.
func (c curve) when(n float64, from int) (at time.Duration, stretch int, ok bool) {
	for i := from; i < len(c); i++ {
		p := c[i]
		if n >= p.before+p.area() {
			continue
		}
		x := p.solve(n - p.before)
		return time.Duration(math.Round((p.start + x) * 1e9)), i, true
	}
	return 0, len(c), false
}

// solve finds the x with from·x + (to−from)/length·x²/2 = n in the form that
// loses no digits where the slope is small.
func (p piece) solve(n float64) float64 {
	if n <= 0 {
		return 0
	}
	slope := (p.to - p.from) / p.length
	root := math.Sqrt(math.Max(0, p.from*p.from+2*slope*n))
	return math.Min(p.length, 2*n/(p.from+root))
}

// curve is the phase's rate over time, warm-up first at the opening rate.
func (p Phase) curve() curve {
	var c curve
	switch p.Kind() {
	case KindConstant, KindPoisson, KindGamma:
		return c.add(p.Span(), p.Rate, p.Rate)
	case KindRamp:
		return c.add(p.Warmup, p.From, p.From).add(p.Duration, p.From, p.To)
	case KindSteps:
		c = c.add(p.Warmup, p.Steps[0], p.Steps[0])
		each := p.Duration / time.Duration(len(p.Steps))
		for _, r := range p.Steps {
			c = c.add(each, r, r)
		}
	case KindSpike:
		s := p.Spike
		c = c.add(p.Warmup+s.At, p.Rate, p.Rate).add(s.For, s.Rate, s.Rate)
		c = c.add(p.Duration-s.At-s.For, p.Rate, p.Rate)
	}
	return c
}
