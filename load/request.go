package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/dialect"
	"weir/probe"
	"weir/stream"
)

// serve is the life of one stream: the request, its records, and the place
// given to whoever waits for one. What lies on the stack here lies there for as
// long as the stream, thousands of times: hence pointers, and no copies.
func (r *run) serve(a *arrival, others int) {
	defer r.flows.Done()
	r.answer(a, others)
	if next, others, ok := r.gate.leave(); ok {
		go r.serve(next, others) // counted when it was queued
	}
}

// answer makes a request and hands over its records; true where the service
// turned it away.
func (r *run) answer(a *arrival, others int) bool {
	r.watch.late(a, time.Now())
	r.c.Live.started(a)
	b := r.buckets[a.scenario]
	records, err := r.ask(a, b, others)
	if err != nil {
		r.fail(err)
	}
	r.settle(a, b, records)
	r.c.Live.ended(records)
	r.finish(a, records)
	return refused(records)
}

// ask makes the request, and stops it where its user would.
func (r *run) ask(a *arrival, b *bucket, others int) ([]*stream.Record, error) {
	q, err := r.question(a, b, others)
	if err != nil {
		return nil, err
	}
	var records []*stream.Record
	if b.cancels(a.phase, a.index) {
		records, err = r.askAndStop(b, q)
	} else {
		records, err = r.do.Do(r.ctx, q.ask, q.meta)
		err = because(r.ctx, records, err)
	}
	if err != nil {
		return records, fmt.Errorf("scenario %s: %w", b.Name, err)
	}
	return records, nil
}

// question is what one arrival asks.
type question struct {
	ask  dialect.Ask
	meta probe.Meta
}

// question is kept out of ask for the sake of ask's stack.
//
//go:noinline
func (r *run) question(a *arrival, b *bucket, others int) (*question, error) {
	ask, err := b.ask(a.phase, a.index, a.lengths)
	if err != nil {
		return nil, err
	}
	return &question{ask, probe.Meta{
		Index: a.number, Run: r.c.Run, Labels: r.label(a), InFlight: stream.Some(others), Expect: b.expect,
	}}, nil
}

// askAndStop makes a request whose user stops it early.
func (r *run) askAndStop(b *bucket, q *question) ([]*stream.Record, error) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	why := &stop{ReasonCancelAfter, "the plan's cancel_after"}
	do := r.do
	if d := b.CancelAfter.Time; d > 0 {
		timer := time.AfterFunc(d, func() { cancel(why) })
		defer timer.Stop()
	} else if r.hooked != nil {
		h, err := r.hooked.take(b.CancelAfter.counter(func() { cancel(why) }))
		if err != nil {
			return nil, err
		}
		defer r.hooked.give(h)
		do = h.client
	}
	records, err := do.Do(ctx, q.ask, q.meta)
	return records, because(ctx, records, err)
}

// because says in records that were cut why they were.
func because(ctx context.Context, records []*stream.Record, err error) error {
	var why *stop
	if !errors.As(context.Cause(ctx), &why) {
		return err
	}
	for _, rec := range records {
		if rec.Outcome == stream.Cancelled && rec.Reason == "" {
			rec.Reason, rec.Detail = why.reason, why.text
		}
	}
	return err
}

// counter calls enough once so many tokens came: as the protocol counts them,
// else an event of output is one.
func (c *Cancel) counter(enough func()) func(*stream.Event) {
	seen := 0
	return func(e *stream.Event) {
		if !e.Kind.Business() {
			return
		}
		if seen += max(1, e.Tokens.Or(1)); seen >= c.Tokens {
			enough()
		}
	}
}

// settle gives records what the load knows of them: how late they were sent
// (t0 is the probe's own), the marks, and reasons that are this machine's.
func (r *run) settle(a *arrival, b *bucket, records []*stream.Record) {
	for _, rec := range records {
		late := time.Duration(0)
		if !a.scheduled.IsZero() {
			late = max(0, rec.Start.Sub(a.scheduled))
			rec.Lateness = stream.Some(late)
		}
		if a.queued {
			rec.Notes = append(rec.Notes, "waited in the queue at max_in_flight")
		}
		if rec.Outcome == stream.ErrorEarly && rec.Reason == "unreachable" && lacksDescriptors(rec.Detail) {
			rec.Reason = ReasonDescriptors
		}
		b.mark(rec, late)
		if !r.c.Probe.KeepText {
			forget(rec)
		}
	}
	r.watch.see(records)
}

// lacksDescriptors recognises EMFILE and ENFILE in an error's text.
func lacksDescriptors(detail string) bool {
	return strings.Contains(detail, "too many open files")
}

// mark evaluates the scenario's marks over a finished answer, with t from when
// the request was due. It is done after the stream, so that expressions never
// delay the reading of another.
func (b *bucket) mark(rec *stream.Record, late time.Duration) {
	if b.marks == nil {
		return
	}
	rec.Marks = b.marks.Names()
	v := b.marks.New()
	for i := range rec.Events {
		e := rec.Events[i]
		e.At += late
		rec.Events[i].Marks = v.Mark(&e)
	}
}

// forget leaves text and state out of a record.
func forget(rec *stream.Record) {
	for i := range rec.Events {
		rec.Events[i].Text, rec.Events[i].State = "", nil
	}
	rec.TextKept = false
}

// finish hands the records over. It is kept out of answer, whose stack would
// hold a copy of the scenario's request.
//
//go:noinline
func (r *run) finish(a *arrival, records []*stream.Record) {
	if r.c.Done != nil && len(records) > 0 {
		r.c.Done(r.c.Scenarios[a.scenario].Request, records)
	}
}

func (r *run) label(a *arrival) map[string]string {
	return r.labels[labelKey{a.phase, a.scenario, a.warmup}]
}

// unsent is the record of a request that was due and never sent.
func (r *run) unsent(a *arrival, o stream.Outcome, reason string) *stream.Record {
	b := r.buckets[a.scenario]
	rec := &stream.Record{
		RequestID: fmt.Sprintf("weir-unsent-%s-%d", r.c.Run, a.number), Choices: 1, Run: r.c.Run, Index: a.number,
		Start: a.scheduled.UTC(), Target: b.shown, Model: b.Request.Model, Streamed: true,
		Labels: r.label(a), Outcome: o, Reason: reason, Expect: b.expect,
		InFlight: stream.Some(r.gate.count()), Dialect: b.dialect,
	}
	if b.marks != nil {
		rec.Marks = b.marks.Names()
	}
	if o == stream.Cancelled { // it waited, and is known to exceed that
		rec.End = stream.Some(time.Since(a.scheduled))
		rec.Detail = "it was still waiting for a place at max_in_flight"
	}
	return rec
}

// clients make the requests. One client keeps the connections of all; requests
// that are stopped after so many tokens have clients of their own, because a
// client's events do not say which request they are of.
type clients struct {
	o      probe.Options
	shared *probe.Client

	mu    sync.Mutex
	spare []*hooked
}

// hooked is a client that makes one request at a time.
type hooked struct {
	client *probe.Client
	see    func(*stream.Event)
}

func newClients(c Config) (*clients, error) {
	o := c.Probe
	if c.Dialect != nil {
		o.Dialect = c.Dialect
	}
	o.KeepText = true // marks are evaluated after the stream; then text goes
	o.OnEvent, o.NewMarker = nil, c.Live.newMarker()
	shared, err := probe.New(o)
	if err != nil {
		return nil, err
	}
	return &clients{o: o, shared: shared}, nil
}

func (c *clients) take(see func(*stream.Event)) (*hooked, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.spare); n > 0 {
		h := c.spare[n-1]
		c.spare = c.spare[:n-1]
		h.see = see
		return h, nil
	}
	h := &hooked{see: see}
	o := c.o
	o.OnEvent = func(e *stream.Event) { h.see(e) }
	client, err := probe.New(o)
	h.client = client
	return h, err
}

func (c *clients) give(h *hooked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spare = append(c.spare, h)
}

func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shared.Close()
	for _, h := range slices.Clone(c.spare) {
		h.client.Close()
	}
}
