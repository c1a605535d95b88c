package load

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"weir/stream"
)

// Run puts the load on its target and returns what it did. Cancelling ctx ends
// it at once: what is in flight is cut, and the result says Partial. An error
// means that weir could not do its job; the result is then what there is.
func Run(ctx context.Context, c Config) (*Result, error) {
	r, err := prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	clients, err := newClients(c)
	if err != nil {
		return nil, err
	}
	defer clients.close()
	r.do, r.hooked = clients.shared, clients
	return r.run(ctx)
}

// run is a load while it runs.
type run struct {
	c       Config
	buckets []*bucket
	labels  map[labelKey]map[string]string
	pick    picker
	do      doer
	hooked  *clients // nil: do makes every request
	gate    gate
	watch   *watch
	limits  limits
	number  int // arrivals of earlier phases, over all shards

	flows sync.WaitGroup // streams and those waiting for a place
	ctx   context.Context
	cut   context.CancelCauseFunc // ends every stream

	mu     sync.Mutex
	result Result
	fault  error
	abort  context.CancelFunc // ends the run: weir cannot go on
}

type labelKey struct {
	phase, scenario int
	warmup          bool
}

// prepare reads what the plan names and checks that every scenario can be asked.
func prepare(ctx context.Context, c Config) (*run, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Drain == 0 {
		c.Drain = DefaultDrain
	}
	r := &run{c: c, pick: newPicker(c.Seed, c.Scenarios), limits: withDefaults(c.Limits), labels: map[labelKey]map[string]string{}}
	r.c.Phases = append([]Phase(nil), c.Phases...)
	for i := range r.c.Phases {
		if err := r.c.Phases[i].Load(c.Base); err != nil {
			return nil, fmt.Errorf("load phase %s: %w", r.c.Phases[i].Name, err)
		}
	}
	for _, s := range c.Scenarios {
		b, err := newBucket(s, &r.c)
		if err != nil {
			return nil, err
		}
		if c.Nonce != "" && s.Request.Body != "" {
			r.warnf("scenario %s: its body is sent as it is, without a nonce: the service may answer from its cache", s.Name)
		}
		r.buckets = append(r.buckets, b)
	}
	r.makeLabels()
	r.warnOfLimits()
	return r, ctx.Err()
}

// makeLabels makes the labels once; records share them.
func (r *run) makeLabels() {
	for p, phase := range r.c.Phases {
		for s, scenario := range r.c.Scenarios {
			for _, warm := range []bool{false, true} {
				l := map[string]string{}
				maps.Copy(l, r.c.Labels)
				l[PhaseLabel], l[ScenarioLabel], l[ArrivalsLabel] = phase.Name, scenario.Name, phase.Kind()
				if warm {
					l[WarmupLabel] = "true"
				}
				r.labels[labelKey{p, s, warm}] = l
			}
		}
	}
}

// warnOfLimits says beforehand what will bound or bend the result.
func (r *run) warnOfLimits() {
	free, known := descriptorsFree()
	for _, p := range r.c.Phases {
		if p.Kind() == KindClosed {
			r.warnf("phase %s is closed: a slow answer delays the next question, which hides queueing; its latencies are no users' latencies", p.Name)
		}
		if want := max(p.MaxInFlight, p.Concurrency); known && want > free {
			r.warnf("phase %s wants %d streams at once, this process may open about %d: raise the limit (ulimit -n)", p.Name, want, free)
		}
	}
	if known {
		r.gate.own = free
	}
}

func (r *run) warnf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(format, args...))
}

// run runs the phases in their order.
func (r *run) run(ctx context.Context) (*Result, error) {
	ctx, r.abort = context.WithCancel(ctx)
	defer r.abort()
	r.result.Start = time.Now().UTC()
	r.watch = startWatch(&r.gate, r.limits)
	r.newStreams(ctx)
	for i := range r.c.Phases {
		if !r.phase(ctx, i) {
			break
		}
	}
	r.drain(ctx, &stop{ReasonEndOfRun, "the run ended"})
	r.cut(nil)
	r.result.Partial = ctx.Err() != nil
	r.result.Health = r.watch.finish(r.result.Phases, r.limits)
	r.result.Unseen = r.unseen()
	return &r.result, r.fault
}

// newStreams makes the context of the streams to come: it outlives an
// interruption just long enough to say why they ended.
func (r *run) newStreams(ctx context.Context) {
	streams, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { cut(&stop{ReasonInterrupted, "the run was interrupted"}) })
	r.ctx = streams
	r.cut = func(why error) {
		release()
		cut(why)
	}
}

// phase runs one phase; false where the run was interrupted. One that sends
// the next request when an answer ended begins and ends without other streams.
func (r *run) phase(ctx context.Context, i int) bool {
	p := r.c.Phases[i]
	alone := !p.Open()
	if alone && i > 0 {
		r.quiet(ctx)
	}
	r.c.Live.phase(p, r.c.Shard)
	r.gate.takePeak()
	start := time.Now()
	res := &PhaseResult{Name: p.Name, Arrivals: p.Kind(), Start: start.UTC()}
	if alone {
		t := r.takeTurns(ctx, i, start, res)
		r.quiet(ctx)
		_, shards := r.c.Shard.of()
		r.number += t.next * shards
	} else if err := r.pace(ctx, i, start, res); err != nil {
		r.fail(err)
	}
	measured := min(time.Since(start), p.Span()) - p.Warmup
	if p.Span() == 0 || alone && p.Requests > 0 {
		measured = time.Since(start) - p.Warmup
	}
	r.close(res, measured)
	return ctx.Err() == nil
}

// close settles a phase's figures.
func (r *run) close(res *PhaseResult, measured time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res.PeakInFlight = r.gate.takePeak()
	if measured > 0 {
		res.Seconds = measured.Seconds()
		res.PlannedRate = float64(res.Planned) / res.Seconds
		res.AchievedRate = float64(res.onTime) / res.Seconds
	}
	r.result.Phases = append(r.result.Phases, *res)
}

// quiet waits until nothing is in flight, and makes streams possible again.
func (r *run) quiet(ctx context.Context) {
	r.drain(ctx, &stop{ReasonEndOfPhase, "the phase ended"})
	r.cut(nil)
	r.newStreams(ctx)
}

// drain waits for the streams in flight, at most so long, and then cuts them.
func (r *run) drain(ctx context.Context, why *stop) {
	ended := make(chan struct{})
	go func() {
		r.flows.Wait()
		close(ended)
	}()
	timer := time.NewTimer(r.c.Drain)
	defer timer.Stop()
	select {
	case <-ended:
		return
	case <-ctx.Done():
		why = &stop{ReasonInterrupted, "the run was interrupted"}
	case <-timer.C:
	}
	for _, a := range r.gate.abandon() {
		r.finish(a, []*stream.Record{r.unsent(a, stream.Cancelled, why.reason)})
		r.flows.Done()
	}
	r.cut(why)
	<-ended
}

// fail ends the run: weir cannot do its job.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		r.fault = err
	}
	r.abort()
}

func (r *run) unseen() map[string][]string {
	out := map[string][]string{}
	for _, b := range r.buckets {
		if b.marks == nil {
			continue
		}
		if names := b.marks.Unseen(); len(names) > 0 {
			out[b.Name] = names
		}
	}
	return out
}

// Check reads what a load names and tries what it would ask, and says what is
// wrong. It asks nobody.
func Check(c Config) error {
	_, err := prepare(context.Background(), c)
	return err
}
