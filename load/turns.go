package load

import (
	"context"
	"sync"
	"time"

	"weir/stream"
)

// turns hands out the requests of a closed phase.
type turns struct {
	r     *run
	phase int
	start time.Time
	res   *PhaseResult

	mu   sync.Mutex
	next int
}

// user asks, waits for the answer, and asks again, while there is time.
func (t *turns) user(ctx context.Context) {
	for {
		a, ok := t.turn(ctx)
		if !ok {
			return
		}
		t.r.gate.mu.Lock()
		others := t.r.gate.take()
		t.r.gate.mu.Unlock()
		refused := t.r.answer(a, others)
		t.r.gate.leave()
		if refused {
			select {
			case <-time.After(refusedPause):
			case <-ctx.Done():
			}
		}
	}
}

// turn is the next request, if the phase goes on.
func (t *turns) turn(ctx context.Context) (*arrival, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.r.c.Phases[t.phase]
	now := time.Now()
	since := now.Sub(t.start)
	warm := since < p.Warmup
	switch {
	case ctx.Err() != nil || t.r.ctx.Err() != nil:
		return nil, false
	case p.Duration > 0 && since >= p.Span():
		return nil, false
	case !warm && p.Requests > 0 && t.res.Planned >= t.r.requests(p):
		return nil, false
	}
	index := t.r.c.Shard.index(t.next)
	t.next++
	a := &arrival{
		phase: t.phase, index: index, number: t.r.number + index, released: now, warmup: warm,
		scenario: t.r.pick.pick(t.phase, index),
	}
	t.r.c.Live.due(admitted)
	if warm {
		t.res.Warmups++
	} else {
		t.res.Planned++
		t.res.Sent++
		t.res.onTime++
	}
	return a, true
}

// requests is this shard's part of a closed phase's requests.
func (r *run) requests(p *Phase) int {
	if p.Kind() == KindSingle {
		return p.Requests
	}
	return r.c.Shard.share(p.Requests)
}

// wait returns when the last request was handed out, or the time is over.
func (t *turns) wait(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		t.r.flows.Wait()
		close(ended)
	}()
	p := &t.r.c.Phases[t.phase]
	limit := make(<-chan time.Time)
	if p.Duration > 0 {
		timer := time.NewTimer(time.Until(t.start.Add(p.Span())))
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-ended:
	case <-limit:
	case <-ctx.Done():
	}
}

// refused reports whether a request failed before anything came.
func refused(records []*stream.Record) bool {
	return len(records) > 0 && records[0].Outcome == stream.ErrorEarly
}
