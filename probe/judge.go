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

// startClock is a time whose wall and monotonic readings belong together. The
// two are read one after the other, and a thread that is suspended between them
// gives a pair that lies by as long: two pairs in a row must agree.
func startClock() time.Time {
	before := time.Now()
	for range 5 {
		now := time.Now()
		if d := stepBetween(before, now); d < 20*time.Microsecond && d > -20*time.Microsecond {
			return now
		}
		before = now
	}
	return before
}

// stepBetween is how far the wall clock moved against the monotonic one.
func stepBetween(a, b time.Time) time.Duration {
	return time.Duration(b.UnixNano()-a.UnixNano()) - b.Sub(a)
}

// see judges the stamps of one read and returns the kernel's, since t0.
func (j *judge) see(app time.Time, kernel int64) stream.Maybe[time.Duration] {
	j.seen++
	if kernel == 0 {
		j.refuse("a read came without a kernel stamp")
		return stream.None[time.Duration]()
	}
	at := time.Duration(kernel - j.wall)
	switch {
	case j.stepped(app):
		j.refuse("the wall clock was stepped by more than 1 ms during the stream")
	case at > app.Sub(j.t0):
		j.refuse("a kernel stamp lay after its application stamp")
	case j.seen > 1 && at < j.last:
		j.refuse("kernel stamps ran backwards")
	}
	j.last = at
	return stream.Some(at)
}

// stepped reports whether the wall clock left the monotonic one since t0. A
// pair of readings that says so may have been torn by a suspended thread, so
// fresh ones decide.
func (j *judge) stepped(app time.Time) bool {
	for range 4 {
		step := time.Duration(app.UnixNano()-j.wall) - app.Sub(j.t0)
		if step <= maxStep && step >= -maxStep {
			return false
		}
		app = time.Now()
	}
	return true
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
	if b, ok := o.before.Get(); ok {
		if a, ok := o.after.Get(); ok {
			r.RcvOOO = stream.Some(a - b)
		}
	}
	r.Stamp, r.StampWhy = o.verdict(r.RcvOOO)
	if k := o.x.w.headAt.kernel; r.Stamp == stream.StampKernel {
		r.Phases.Headers = stream.Some(time.Duration(k - o.judge.wall))
	}
	if len(reads) > 0 {
		first := reads[0].App
		if r.Stamp == stream.StampKernel {
			first = reads[0].Kernel.Or(first)
		}
		r.Phases.FirstByte = stream.Some(first)
	}
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
