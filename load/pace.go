package load

import (
	"context"
	"runtime"
	"time"

	"weir/stream"
)

// sleeper waits for moments. A late wake is not made up for by moving what
// comes after: the moments stand.
type sleeper interface {
	until(ctx context.Context, t time.Time) bool // false: ctx ended first
	close()
}

// timerSleeper waits by the runtime's timer: to about a millisecond.
type timerSleeper struct{ timer *time.Timer }

func newTimerSleeper() *timerSleeper {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &timerSleeper{t}
}

func (s *timerSleeper) until(ctx context.Context, t time.Time) bool {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err() == nil
	}
	s.timer.Reset(d)
	select {
	case <-s.timer.C:
		return true
	case <-ctx.Done():
		s.timer.Stop()
		return false
	}
}

func (s *timerSleeper) close() { s.timer.Stop() }

// pace releases every arrival of a phase at its moment, from one goroutine,
// and returns when the phase's time is over.
func (r *run) pace(ctx context.Context, phase int, start time.Time, res *PhaseResult) error {
	p := &r.c.Phases[phase]
	schedule, err := p.Schedule(phaseSeed(r.c.Seed, phase), r.c.Shard)
	if err != nil {
		return err
	}
	s := sleeper(newTimerSleeper())
	if r.c.Precise {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s = newPreciseSleeper()
	}
	defer s.close()
	end := start.Add(p.Span())
	k := 0
	for due, ok := schedule.Next(); ok; due, ok = schedule.Next() {
		if !s.until(ctx, start.Add(due)) {
			break
		}
		r.release(r.arrival(phase, k, start, due), p, res, end)
		k++
	}
	_, shards := r.c.Shard.of()
	r.number += k * shards
	s.until(ctx, end)
	return nil
}

// arrival is this shard's k-th arrival of a phase.
func (r *run) arrival(phase, k int, start time.Time, due time.Duration) *arrival {
	p := &r.c.Phases[phase]
	index := r.c.Shard.index(k)
	a := &arrival{
		phase: phase, index: index, number: r.number + index,
		scheduled: start.Add(due), released: time.Now(), warmup: due < p.Warmup,
		scenario: r.pick.pick(phase, index),
	}
	if index < len(p.trace) {
		a.lengths = p.trace[index]
	}
	return a
}

// release lets an arrival go: a goroutine of its own, a place in the queue, or
// a record that says it was dropped.
func (r *run) release(a *arrival, p *Phase, res *PhaseResult, end time.Time) {
	admission, others := r.gate.enter(a, p.MaxInFlight, p.OnFull)
	r.c.Live.due(admission)
	r.count(a, res, admission, end)
	switch admission {
	case admitted:
		r.flows.Add(1)
		go r.serve(a, others)
	case waiting:
		r.flows.Add(1)
	case full:
		r.finish(a, []*stream.Record{r.unsent(a, stream.Dropped, ReasonInFlight)})
	case short:
		r.finish(a, []*stream.Record{r.unsent(a, stream.Dropped, ReasonDescriptors)})
	}
}

func (r *run) count(a *arrival, res *PhaseResult, admission admission, end time.Time) {
	if a.warmup {
		res.Warmups++
		return
	}
	res.Planned++
	if !a.released.After(end) {
		res.onTime++
	}
	switch admission {
	case full:
		res.Dropped++
	case short:
		res.OwnDrops++
	case waiting:
		res.Queued++
		res.Sent++
	default:
		res.Sent++
	}
}

// refusedPause is how long a user of a closed phase waits who was turned away:
// without it a service that refuses would be asked as fast as a loop can.
const refusedPause = 10 * time.Millisecond

// takeTurns runs a closed phase: so many users, each of whom asks again when
// the answer ended.
func (r *run) takeTurns(ctx context.Context, phase int, start time.Time, res *PhaseResult) *turns {
	p := &r.c.Phases[phase]
	users := 1
	if p.Kind() == KindClosed {
		users = r.c.Shard.share(p.Concurrency)
	} else if number, _ := r.c.Shard.of(); number != 0 {
		users = 0 // one at a time over all machines: the first's
	}
	turns := &turns{r: r, phase: phase, start: start, res: res}
	for range users {
		r.flows.Go(func() { turns.user(ctx) })
	}
	s := newTimerSleeper()
	defer s.close()
	if p.Requests == 0 {
		s.until(ctx, start.Add(p.Span()))
		return turns
	}
	turns.wait(ctx)
	return turns
}
