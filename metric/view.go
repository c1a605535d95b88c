package metric

import (
	"time"

	"weir/stat"
	"weir/stream"
)

// view is a record with what several metrics need, computed once.
type view struct {
	r        *stream.Record
	events   []stream.Event // all
	last     []stream.Event // those of the last attempt: after the last restart
	business []*stream.Event
	tokens   tokens
	rhythm   Series
	gaps     lengths // known
	gaps0    lengths // with the unknown ones as 0; none where the answer came whole
	stamped  bool    // by the service
	reading  reading
	stalls   stalls
	output   flow // tokens over the last attempt
	prose    flow // characters of its text
	served   flow // tokens by the service's stamps

	serviceGaps lengths
	fluid       fluidity
}

func newView(r *stream.Record) *view {
	v := glance(r)
	v.tokens = countTokens(r, v.last)
	v.fluid = v.fluidity()
	v.reading = v.read()
	v.gaps = sorted(v.rhythm.known())
	if !r.Whole {
		v.gaps0 = sorted(v.rhythm.withZeros())
	}
	v.stalls = v.stalled()
	v.output, v.prose = v.outputFlow(), v.proseFlow()
	service, stamped := ServiceSeries(r)
	v.stamped, v.serviceGaps = stamped, sorted(service.known())
	v.served = v.serviceFlow()
	return v
}

// glance is a view with what costs little: the events by their sort, and when
// they came.
func glance(r *stream.Record) *view {
	v := &view{r: r, events: r.Events, last: r.Events, business: make([]*stream.Event, 0, len(r.Events))}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Kind == stream.KindRestart {
			v.last = r.Events[i+1:]
		}
		if e.Kind.Business() {
			v.business = append(v.business, e)
		}
	}
	v.rhythm = Observe(r)
	return v
}

func (v *view) spoke() bool { return len(v.business) > 0 }

// unfinished reports whether the stream is known not to have ended well.
func (v *view) unfinished() bool {
	return v.r.Outcome != stream.Unknown && !v.r.Outcome.Ended()
}

// elapsed is how long the stream is known to have lasted.
func (v *view) elapsed() (time.Duration, bool) {
	if end, ok := v.r.End.Get(); ok {
		return end, true
	}
	if n := len(v.events); n > 0 {
		return v.events[n-1].At, true
	}
	return 0, false
}

// unreached is what is known of a latency mark that the stream did not reach
// (METRICS §8.2): never if it failed by itself or was dropped, over its
// elapsed time if we cut it. An answer that ended, or a log that does not say
// how, leaves it missing.
func (v *view) unreached() Value {
	switch o := v.r.Outcome; {
	case o == stream.Unknown || o.Ended():
		return Value{}
	case o.Ours():
		if d, ok := v.elapsed(); ok {
			return Value{V: ms(d), Is: Over}
		}
		return Value{}
	}
	return Value{Is: Never}
}

// scheduled moves a mark's start from t0 to when the plan wanted the request.
func (v *view) scheduled(x Value) Value {
	if late, ok := v.r.Lateness.Get(); ok && (x.Is == Reached || x.Is == Over) {
		x.V += ms(late)
	}
	return x
}

func (v *view) firstKind() string {
	if len(v.events) == 0 {
		return ""
	}
	return v.events[0].Kind.String()
}

// ms is a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func msOf(d stream.Maybe[time.Duration]) Value {
	if x, ok := d.Get(); ok {
		return stat.At(ms(x))
	}
	return Value{}
}

func numberOf(n stream.Maybe[int]) Value {
	if x, ok := n.Get(); ok {
		return stat.At(float64(x))
	}
	return Value{}
}
