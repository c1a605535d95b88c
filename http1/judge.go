package http1

import (
	"time"

	"weir/stream"
)

// Judge decides whether the kernel's stamps may be used for a stream: for all
// of it or for none (METRICS §1).
type Judge struct {
	t0   time.Time
	wall int64 // the wall clock at t0, Unix ns
	last time.Duration
	seen int
	why  string // why not; "" = good so far
}

// maxStep is the most the wall clock may have moved against the monotonic one
// since t0: kernel stamps are wall time.
const maxStep = time.Millisecond

// NewJudge begins with a stream whose t0 is of StartClock.
func NewJudge(t0 time.Time) Judge { return Judge{t0: t0, wall: t0.UnixNano()} }

// Why says why the kernel's stamps may not be used, "" where they may so far.
func (j *Judge) Why() string { return j.why }

// Since is a kernel stamp, Unix ns, as a time since t0.
func (j *Judge) Since(kernel int64) time.Duration { return time.Duration(kernel - j.wall) }

// StartClock is a time whose wall and monotonic readings belong together. The
// two are read one after the other, and a thread that is suspended between them
// gives a pair that lies by as long: two pairs in a row must agree.
func StartClock() time.Time {
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

// See judges the stamps of one read and returns the kernel's, since t0.
func (j *Judge) See(app time.Time, kernel int64) stream.Maybe[time.Duration] {
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
func (j *Judge) stepped(app time.Time) bool {
	for range 4 {
		step := time.Duration(app.UnixNano()-j.wall) - app.Sub(j.t0)
		if step <= maxStep && step >= -maxStep {
			return false
		}
		app = time.Now()
	}
	return true
}

func (j *Judge) refuse(why string) {
	if j.why == "" {
		j.why = why
	}
}
