package rig

import (
	"time"

	"weir/stream"
)

// Placement is where a party's time zero lies on another's time line. Clocks of
// two machines are not compared: what is known is that a request cannot come
// before it was sent, and that nothing reaches the client before the gateway
// had it. Between these bounds every place is possible.
type Placement struct {
	Low, High time.Duration
	Known     bool
	Why       string // where it is not known, or the bounds contradict each other
	Pairs     int    // events of both sides that the upper bound is the least of
}

// At is the middle of the bounds.
func (p Placement) At() time.Duration { return (p.Low + p.High) / 2 }

// Within is how far from the middle it can be, at most.
func (p Placement) Within() time.Duration { return (p.High - p.Low) / 2 }

// contradiction is how far bounds may cross by the sides' stamps alone.
const contradiction = time.Millisecond

// Place finds where the inner party's request came on the outer's time line,
// both since their own request.
func Place(outer, inner Side) Placement {
	o := outer.Main()
	p := Placement{Low: outer.Before() + o.Phases.DNS.Or(0) + o.Phases.Connect.Or(0) + o.Phases.TLS.Or(0)}
	upper := func(at, least stream.Maybe[time.Duration]) {
		a, ok1 := at.Get()
		b, ok2 := least.Get()
		if ok1 && ok2 && (!p.Known || a-b < p.High) {
			p.High, p.Known = a-b, true
		}
	}
	upper(outer.FirstOutput(), inner.FirstSent())
	pairs := pairedEvents(outer, inner)
	for _, e := range pairs {
		upper(stream.Some(e[0]), stream.Some(e[1]))
	}
	p.Pairs = len(pairs)
	switch {
	case !p.Known:
		p.Why = "nothing is known of both that would bound it"
	case p.High < p.Low-contradiction:
		p.Known = false
		p.Why = "the two accounts contradict each other: the gateway had output later than its client, by their own clocks"
	case p.High < p.Low:
		p.Low = p.High
	}
	return p
}

// pairedEvents are the times of the same output on both sides, since their
// requests. A gateway changes no event, so that the n-th is the n-th, unless one
// side restarted, was resumed or has several answers.
func pairedEvents(outer, inner Side) [][2]time.Duration {
	if len(outer.Answers) != 1 || len(inner.Answers) != 1 {
		return nil
	}
	a, b := outer.Answers[0], inner.Answers[0]
	if a.Whole || b.Whole {
		return nil
	}
	out, okA := outputs(a)
	in, okB := outputs(b)
	if !okA || !okB || len(out) > len(in) {
		return nil
	}
	var pairs [][2]time.Duration
	for i := range out {
		if out[i].Kind != in[i].Kind {
			return nil
		}
		pairs = append(pairs, [2]time.Duration{outer.Before() + out[i].At, inner.Before() + in[i].At})
	}
	return pairs
}

// outputs are the record's business events; false after a restart.
func outputs(r *stream.Record) (list []*stream.Event, ok bool) {
	for i := range r.Events {
		e := &r.Events[i]
		if e.Kind == stream.KindRestart {
			return nil, false
		}
		if e.Kind.Business() {
			list = append(list, e)
		}
	}
	return list, true
}

// ClockOffset bounds what the inner party's wall clock shows more than the
// outer's; false where one has no wall time.
func ClockOffset(outer, inner Side, p Placement) (low, high time.Duration, ok bool) {
	if !p.Known || outer.Came().IsZero() || inner.Came().IsZero() {
		return 0, 0, false
	}
	d := inner.Came().Sub(outer.Came())
	return d - p.High, d - p.Low, true
}
