package probe

import (
	"fmt"
	"time"

	"weir/stream"
)

// judge decides whether the kernel's stamps may be used for a stream: for all
// of it or for none (METRICS §1).
type judge struct {
	t0   time.Time
	wall int64 // the wall clock at t0, Unix ns
	last time.Duration
	seen int
	why  string // why not; "" = good so far
}

// maxStep is the most the wall clock may have moved against the monotonic one
// since t0: kernel stamps are wall time.
const maxStep = time.Millisecond

func newJudge(t0 time.Time) judge { return judge{t0: t0, wall: t0.UnixNano()} }

// see judges the stamps of one read and returns the kernel's, since t0. It is
// reckoned back from the application's stamp, so that a wall clock that was
// stepped before this read does not enter.
func (j *judge) see(app time.Time, kernel int64) stream.Maybe[time.Duration] {
	j.seen++
	if kernel == 0 {
		j.refuse("a read came without a kernel stamp")
		return stream.None[time.Duration]()
	}
	mono := app.Sub(j.t0)
	lag := time.Duration(app.UnixNano() - kernel)
	step := time.Duration(app.UnixNano()-j.wall) - mono
	at := mono - lag
	switch {
	case step > maxStep || step < -maxStep:
		j.refuse(fmt.Sprintf("the wall clock was stepped by %s during the stream", step.Round(time.Microsecond)))
	case lag < 0:
		j.refuse("a kernel stamp lay after its application stamp")
	case j.seen > 1 && at < j.last:
		j.refuse("kernel stamps ran backwards")
	}
	j.last = at
	return stream.Some(at)
}

func (j *judge) refuse(why string) {
	if j.why == "" {
		j.why = why
	}
}

// usesKernel reports whether the stream could use kernel stamps so far.
func (o *observer) usesKernel() bool { return o.judge.why == "" && !o.x.c.o.AppStamps }

// settleStamp decides the clock of the whole stream and sets the phases by it.
func (o *observer) settleStamp(r *stream.Record) {
	reads := o.tap.Reads()
	if o.res == nil {
		return
	}
	after := o.car.disorder()
	if b, ok := o.disorder.Get(); ok {
		if a, ok := after.Get(); ok {
			r.RcvOOO = stream.Some(a - b)
		}
	}
	r.Stamp, r.StampWhy = o.verdict(r.RcvOOO)
	if r.Stamp == stream.StampKernel {
		at := r.Phases.Headers
		if k := o.headKernel(); k.Known() {
			at = k
		}
		r.Phases.Headers = at
	}
	if len(reads) > 0 {
		first := reads[0].App
		if r.Stamp == stream.StampKernel {
			first = reads[0].Kernel.Or(first)
		}
		r.Phases.FirstByte = stream.Some(first)
	}
}

func (o *observer) headKernel() stream.Maybe[time.Duration] {
	at := o.x.w.headAt
	if at.kernel == 0 {
		return stream.None[time.Duration]()
	}
	return stream.Some(o.x.since(at.app) - time.Duration(at.app.UnixNano()-at.kernel))
}

func (o *observer) verdict(disorder stream.Maybe[int]) (stream.Stamp, string) {
	n, known := disorder.Get()
	switch {
	case o.below.stamp == stream.StampBody:
		return stream.StampBody, "HTTP/2 is stamped when its body's read returns"
	case o.x.c.o.AppStamps:
		return stream.StampSocket, "application stamps were asked for"
	case !known:
		return stream.StampSocket, "this system does not say whether segments came out of order"
	case n != 0:
		return stream.StampSocket, fmt.Sprintf("%d segments came out of order during the stream", n)
	case o.judge.why != "":
		return stream.StampSocket, o.judge.why
	}
	return stream.StampKernel, ""
}
