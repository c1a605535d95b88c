package pace

import (
	"math"
	"time"
)

// Options are how a Buffer paces. The zero value works.
type Options struct {
	MaxDelay time.Duration // the most that is added to any byte; 0 = 150 ms
	Whole    bool          // events are spaced and never cut
	Limit    int           // bytes that may wait; 0 = 64 KiB
}

// DefaultMaxDelay is the bound where none is said.
const DefaultMaxDelay = 150 * time.Millisecond

const (
	defaultLimit = 64 << 10
	minStep      = 4 * time.Millisecond  // releases are no closer: a quarter of a screen's frame
	cutPeriod    = 50 * time.Millisecond // a service that speaks more often sends no lumps that are worth cutting
	headroom     = 0.9                   // of the service's own pace, so that a backlog shrinks
	mostSteps    = 3                     // of one bound, where it cannot bridge the silence
)

// Event is one event of a stream, on its way to a client.
type Event[T any] struct {
	Bytes []byte // as it is to be sent; must not change until it is handed out
	Text  bool   // plain visible text and nothing else: it may wait
	Form  Form   // the zero Form is never cut
	Load  T      // the caller's own
}

// Piece is an event, or a part of one that is an event itself.
type Piece[T any] struct {
	Bytes []byte
	Text  bool
	Last  bool // the event is out whole with it
	Load  T
	Delay time.Duration // since the event came
}

// Buffer is the playout buffer of one stream. It is not safe for concurrent use.
type Buffer[T any] struct {
	o        Options
	queue    []item[T]
	store    []item[T] // where a queue begins anew
	units    int       // in the queue
	bytes    int       // in the queue
	flush    int       // so many from the front leave at once
	quota    float64   // units that may still leave in this step
	fresh    bool      // nothing has left in it
	rhythm   rhythm
	last     time.Time // when text last left
	before   meter
	after    meter
	context  context
	report   Report
	weighted float64 // sum of delay × bytes
	sent     int     // bytes of text that left
}

type item[T any] struct {
	Event[T]
	at    time.Time
	part  part
	units int // what is left of it
	total int // of them at first
}

// New makes a Buffer.
func New[T any](o Options) *Buffer[T] {
	if o.MaxDelay <= 0 {
		o.MaxDelay = DefaultMaxDelay
	}
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	return &Buffer[T]{o: o, rhythm: rhythm{silence: 4 * o.MaxDelay}}
}

// Push takes an event. Those that may leave now are had from Pop.
func (b *Buffer[T]) Push(e Event[T], now time.Time) {
	it := item[T]{Event: e, at: now, units: 1}
	if e.Text {
		it.part = b.context.read(e.Form, e.Bytes, b.o.Whole)
		it.units = it.part.units()
		b.before.event(now)
		b.rhythm.event(now, it.units)
		b.report.Events++
	} else {
		b.before.pause()
		b.rhythm.pause()
	}
	it.total = it.units
	if len(b.queue) == 0 {
		b.queue = b.store[:0]
	}
	if b.queue = append(b.queue, it); len(b.queue) == 1 {
		b.store = b.queue
	}
	b.units += it.units
	b.bytes += len(e.Bytes)
	switch {
	case !e.Text:
		b.flush = len(b.queue)
	case b.bytes > b.o.Limit:
		b.Bypass()
	}
}

// Flush lets all that waits leave at the next Pops.
func (b *Buffer[T]) Flush() { b.flush = len(b.queue) }

// Bypass is Flush for want of room: it is counted.
func (b *Buffer[T]) Bypass() {
	if len(b.queue) > b.flush {
		b.report.Bypassed += len(b.queue) - b.flush
		b.Flush()
	}
}

// Waiting is how many bytes wait.
func (b *Buffer[T]) Waiting() int { return b.bytes }

// Next is when something may leave; false where nothing waits. A time that is
// past, or zero, is now.
func (b *Buffer[T]) Next() (time.Time, bool) {
	if len(b.queue) == 0 {
		return time.Time{}, false
	}
	if b.flush > 0 || b.last.IsZero() {
		return time.Time{}, true
	}
	step, _ := b.step()
	due, limit := b.last.Add(step), b.deadline(0)
	if limit.Before(due) {
		due = limit
	}
	return due, true
}

// deadline is the latest time at which the i-th of the queue may leave.
func (b *Buffer[T]) deadline(i int) time.Time { return b.queue[i].at.Add(b.o.MaxDelay) }

// step is the time between two releases: the service's own time per unit, less
// where that would break the bound. Where the bound is shorter than the silence
// between two bursts, some of it stays silent whatever is done; the releases
// then stand as far apart as that rest, and several units leave in one. least is
// how many leave at least.
func (b *Buffer[T]) step() (step time.Duration, least int) {
	pace, period := b.rhythm.pace()
	if pace == 0 {
		return 0, math.MaxInt
	}
	step = time.Duration(headroom * float64(pace))
	step = min(step, b.deadline(len(b.queue)-1).Sub(b.last)/time.Duration(b.units))
	least = 1
	if step < minStep {
		least = int(math.Ceil(float64(minStep) / float64(max(step, time.Microsecond))))
	}
	if rest := period - b.o.MaxDelay; rest > 0 {
		step = max(step, min(rest, b.o.MaxDelay/mostSteps))
	}
	return max(step, minStep), least
}

// Pop hands out the next piece that may leave at the given time; false where
// none may.
func (b *Buffer[T]) Pop(now time.Time) (p Piece[T], ok bool) {
	if len(b.queue) == 0 {
		b.quota = 0
		return p, false
	}
	if b.flush > 0 {
		return b.take(b.queue[0].units, now), true
	}
	if b.quota < 0.5 {
		due, _ := b.Next()
		if now.Before(due) {
			return p, false
		}
		b.quota, b.fresh = max(b.allowance(now), 1), true
	}
	n := b.fit()
	if n == 0 {
		b.quota = 0
		return p, false
	}
	b.quota -= float64(n)
	return b.take(n, now), true
}

// allowance is how many units must leave now so that all others can keep their
// bound with even steps.
func (b *Buffer[T]) allowance(now time.Time) float64 {
	step, least := b.step()
	if b.last.IsZero() || step == 0 {
		return math.MaxInt32
	}
	need, sum := float64(least), 0
	for i := range b.queue {
		sum += b.queue[i].units
		slots := 1 + max(0, b.deadline(i).Sub(now)/step)
		need = max(need, float64(sum)/float64(slots))
	}
	return need
}

// take hands out n units of the front.
func (b *Buffer[T]) take(n int, now time.Time) Piece[T] {
	it := &b.queue[0]
	p := Piece[T]{Text: it.Text, Load: it.Load, Delay: now.Sub(it.at), Last: n == it.units}
	p.Bytes = it.part.take(it.Bytes, n, p.Last, it.units < it.total)
	it.units -= n
	b.units -= n
	b.fresh = false
	if it.Text {
		b.last = now
		b.report.Pieces++
		b.report.MaxDelay = max(b.report.MaxDelay, p.Delay)
		b.after.event(now)
		b.weighted += float64(p.Delay) * float64(len(p.Bytes))
		b.sent += len(p.Bytes)
	} else {
		b.after.pause()
	}
	if p.Last {
		b.bytes -= len(it.Bytes)
		b.flush = max(b.flush-1, 0)
		b.queue[0] = item[T]{}
		b.queue = b.queue[1:]
	}
	return p
}

// fit is how many units of the front fit into the quota, to the nearest: an
// event that cannot be cut leaves where at least half of it fits, or where it is
// the first of a step.
func (b *Buffer[T]) fit() int {
	it := &b.queue[0]
	n := int(math.Round(b.quota))
	switch _, period := b.rhythm.pace(); {
	case n >= it.units:
		return it.units
	case it.part.cuts != nil && period >= cutPeriod:
		return n
	case b.fresh || float64(it.units) <= 2*b.quota:
		return it.units
	}
	return 0
}
