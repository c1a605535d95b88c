package pace

import (
	"math"
	"slices"
	"time"
)

const (
	rounds    = 16                    // that are remembered
	roundGap  = 8 * time.Millisecond  // a longer pause begins a new round
	roundMost = 50 * time.Millisecond // and so does a round that lasts this long
)

// rhythm learns how a service speaks: rounds of units, and the time from the
// beginning of one to that of the next.
type rhythm struct {
	silence time.Duration // a longer pause is none of the rhythm

	done  [rounds]round
	n     int // of done, all told
	open  round
	start time.Time // of the open round
	prev  time.Time // its newest event

	mean   time.Duration // as of the newest round: time per unit; 0 = not known
	period time.Duration // median time of a round
}

type round struct {
	units int
	took  time.Duration
}

// event learns from units that came.
func (r *rhythm) event(now time.Time, units int) {
	began := r.open.units > 0
	if began && now.Sub(r.prev) < roundGap && now.Sub(r.start) < roundMost {
		r.open.units += units
		r.prev = now
		return
	}
	if took := now.Sub(r.start); began && took <= r.silence {
		r.open.took = took
		r.done[r.n%rounds] = r.open
		r.n++
		r.learn()
	}
	r.open, r.start, r.prev = round{units: units}, now, now
}

// pause forgets the open round: what comes next belongs to another phase.
func (r *rhythm) pause() { r.open = round{} }

// pace is the time per unit and the usual time of a round; zero while nothing is
// known.
func (r *rhythm) pace() (mean, period time.Duration) { return r.mean, r.period }

// learn sums up the remembered rounds. The longest counts as the second longest:
// one stall in a steady stream is no rhythm, the silences of bursts are several.
func (r *rhythm) learn() {
	n := min(r.n, rounds)
	var took [rounds]time.Duration
	units, sum := 0, time.Duration(0)
	for i := range n {
		took[i] = r.done[i].took
		units += r.done[i].units
		sum += took[i]
	}
	slices.Sort(took[:n])
	if n > 1 {
		sum -= took[n-1] - took[n-2]
	}
	r.mean, r.period = sum/time.Duration(units), took[n/2]
}

// Gaps are the pauses between the arrivals of a stream's text. What comes
// within a millisecond of an arrival's first event belongs to it, as in
// METRICS §1; a pause in which anything but text came is not counted.
type Gaps struct {
	N      int
	Mean   time.Duration
	Stddev time.Duration // of the sample; 0 where N is under 2
}

// meter measures gaps, by Welford's method.
type meter struct {
	at   time.Time // of the newest arrival; zero = none to count from
	n    int
	mean float64
	m2   float64
}

func (m *meter) event(now time.Time) {
	switch gap := now.Sub(m.at); {
	case m.at.IsZero():
	case gap < time.Millisecond:
		return
	default:
		m.n++
		d := float64(gap) - m.mean
		m.mean += d / float64(m.n)
		m.m2 += d * (float64(gap) - m.mean)
	}
	m.at = now
}

func (m *meter) pause() { m.at = time.Time{} }

func (m *meter) gaps() Gaps {
	g := Gaps{N: m.n, Mean: time.Duration(m.mean)}
	if m.n > 1 {
		g.Stddev = time.Duration(math.Sqrt(m.m2 / float64(m.n-1)))
	}
	return g
}

// Report is what a Buffer did to a stream's text.
type Report struct {
	Events   int // that came
	Pieces   int // that left: more than Events where some were cut
	Bypassed int // events that left early for want of room
	Before   Gaps
	After    Gaps

	MeanDelay time.Duration // over the bytes that left
	MaxDelay  time.Duration
}

// Report says what was done so far.
func (b *Buffer[T]) Report() Report {
	r := b.report
	r.Before, r.After = b.before.gaps(), b.after.gaps()
	if b.sent > 0 {
		r.MeanDelay = time.Duration(b.weighted / float64(b.sent))
	}
	return r
}
