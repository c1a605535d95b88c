package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
	"weir/relay/redis"
	"weir/stream"
)

// Worker takes jobs from a queue and has them run.
type Worker struct {
	q      *Queue
	runner relay.Runner

	mu      sync.Mutex
	jobs    map[string]held // by ticket
	era     string
	changed chan struct{} // closed when one ends; nil: nobody waits

	taking  context.Context // ends with the drain
	settled chan struct{}   // closed when nothing more is taken
	stop    context.CancelFunc
	ctx     context.Context // of everything else
	end     context.CancelFunc
	running sync.WaitGroup
	loops   sync.WaitGroup
}

// held is a job that this worker has.
type held struct {
	stream string
	fence  context.CancelCauseFunc
	era    string // of the queue that it was taken from
}

// Work begins to take jobs. Drain and Close end it.
func (q *Queue) Work(r relay.Runner) *Worker {
	w := &Worker{q: q, runner: r, jobs: map[string]held{}, settled: make(chan struct{})}
	w.ctx, w.end = context.WithCancel(context.Background())
	w.taking, w.stop = context.WithCancel(w.ctx)
	q.log.Handle(func(m redis.Message) {
		if m.Kind == kindGone {
			go r.Gone(m.Stream)
		}
	})
	go w.take()
	w.loops.Go(w.tend)
	return w
}

// Running is how many jobs this worker has.
func (w *Worker) Running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.jobs)
}

// Drain takes no more jobs and waits for those that run, which are renewed as
// before, until ctx ends; its error says how many were left.
func (w *Worker) Drain(ctx context.Context) error {
	w.stop()
	settled := w.settled // a read that waits may still bring some
	for {
		n, changed := w.free()
		if n == w.q.o.Places && settled == nil {
			return nil
		}
		select {
		case <-settled:
			settled = nil
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d jobs still ran: %w", w.Running(), context.Cause(ctx))
		}
	}
}

// Close ends the worker. What its jobs still do is their runner's to end first:
// Close waits for them.
func (w *Worker) Close() {
	w.stop()
	<-w.settled
	w.running.Wait()
	w.end()
	w.loops.Wait()
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if w.q.log.Up() {
		_ = parting.Run(ctx, w.q.log.Client(), []string{w.q.key}, group, w.q.log.Instance()).Err() // else its name stays for a while
	}
}

// free is how many places are free, and what is closed when one becomes it.
func (w *Worker) free() (int, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.q.o.Places - len(w.jobs), w.changed
}

// How much is taken at once, so that a burst is spread over the workers, and
// how long one read waits.
const (
	mostAtOnce = 16
	block      = time.Second
)

// take takes what waits.
func (w *Worker) take() {
	defer close(w.settled)
	for w.taking.Err() == nil && !w.makeQueue() {
		w.sleep(w.taking, 200*time.Millisecond)
	}
	for w.taking.Err() == nil {
		n, changed := w.free()
		if n <= 0 {
			select {
			case <-changed:
			case <-w.taking.Done():
			}
			continue
		}
		streams, err := w.read(min(n, mostAtOnce))
		if err != nil {
			w.missed(err)
			continue
		}
		for _, s := range streams {
			for _, m := range s.Messages {
				w.begin(m, 1)
			}
		}
	}
}

// read waits for jobs that wait. The client's own call would bear a Redis that
// hangs for ten seconds longer than it blocks, and who drains or closes with it.
func (w *Worker) read(most int) ([]goredis.XStream, error) {
	cmd := goredis.NewXStreamSliceCmd(w.taking, "xreadgroup", "group", group, w.q.log.Instance(),
		"count", most, "block", block.Milliseconds(), "streams", w.q.key, ">")
	cmd.SetFirstKeyPos(9)
	_ = w.q.log.Client().Process(w.taking, cmd) // the command has the error
	return cmd.Result()
}

// missed is what a worker does that could not read: it makes the group, or waits.
func (w *Worker) missed(err error) {
	switch {
	case errors.Is(err, goredis.Nil):
		return
	case goredis.HasErrorPrefix(err, "NOGROUP"), strings.Contains(err.Error(), "no such key"), strings.Contains(err.Error(), "UNBLOCKED"):
		if w.makeQueue() {
			return
		}
	}
	_ = w.q.log.Failed(w.taking, err)
	w.sleep(w.taking, 200*time.Millisecond)
}

// makeQueue makes the queue where there is none, and notes its era.
func (w *Worker) makeQueue() bool {
	era, err := w.q.begin(w.ctx)
	if err != nil {
		return false
	}
	_ = w.q.sweep(w.ctx, unseen) // else the next that begins does it
	w.mu.Lock()
	defer w.mu.Unlock()
	w.era = era
	return true
}

func (w *Worker) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// begin runs a job that is this worker's. runs is how often it was taken.
func (w *Worker) begin(m goredis.XMessage, runs int) {
	ctx, cancel := context.WithCancelCause(w.ctx)
	w.mu.Lock()
	_, here := w.jobs[m.ID]
	if !here {
		w.jobs[m.ID] = held{text(m.Values[fieldStream]), cancel, w.era}
	}
	w.mu.Unlock()
	if here {
		cancel(nil)
		return // it was idle because this process was: its other run goes on
	}
	w.running.Go(func() {
		defer cancel(nil)
		w.done(ctx, m.ID, w.run(ctx, m, runs))
	})
}

// done takes a job out of the queue that is over, unless it is another's.
func (w *Worker) done(ctx context.Context, id string, over bool) {
	if over && !errors.Is(context.Cause(ctx), relay.ErrFenced) {
		out, stop := context.WithTimeout(context.Background(), 2*time.Second)
		pipe := w.q.log.Client().Pipeline()
		pipe.XAck(out, w.q.key, group, id)
		pipe.XDel(out, w.q.key, id)
		_, err := pipe.Exec(out)
		_ = w.q.log.Failed(out, err) // whoever takes it over finds its stream ended
		stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.jobs, id)
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// run does a job; over is false for one that somebody is to take over, since
// Redis was away before it was known whether it is to be run.
func (w *Worker) run(ctx context.Context, m goredis.XMessage, runs int) (over bool) {
	stream, data := text(m.Values[fieldStream]), text(m.Values[fieldData])
	if relay.CheckStream(stream) != nil {
		w.q.o.Observer.JobDropped("bad")
		return true
	}
	if runs == 1 && !w.awaited(ctx, text(m.Values[fieldFrom])) {
		_ = w.q.log.Drop(ctx, stream) // else it expires
		w.q.o.Observer.JobDropped("gone")
		return true
	}
	taken, entries, err := w.claim(ctx, stream)
	switch {
	case err != nil:
		w.q.o.Observer.JobDropped("redis")
		return !errors.Is(err, relay.ErrDown)
	case taken == redis.TakenOutput:
		w.q.o.Observer.JobDropped("lost")
		w.lost(ctx, stream, entries)
	case taken != redis.TakenOK:
		w.q.o.Observer.JobDropped(string(taken))
	default:
		waited := w.waited(ctx, m.ID)
		w.q.o.Observer.JobTaken(waited, runs > 1)
		w.runner.Run(ctx, relay.Task{Stream: stream, Data: []byte(data), Runs: runs, Waited: waited})
	}
	return true
}

// claim is Take, again where Redis was away for a moment.
func (w *Worker) claim(ctx context.Context, stream string) (t redis.Taken, entries int64, err error) {
	for range 10 {
		if t, entries, err = w.q.log.Take(ctx, stream); err == nil || !errors.Is(err, relay.ErrDown) {
			return t, entries, err
		}
		w.sleep(ctx, 200*time.Millisecond)
	}
	return t, entries, err
}

func text(v any) string { s, _ := v.(string); return s }

// awaited reports whether the instance that put a job is alive. Where that
// cannot be asked it counts as alive; one that has just begun, or a Redis that
// lost its content, has a moment to say so.
func (w *Worker) awaited(ctx context.Context, instance string) bool {
	for end := time.Now().Add(w.q.o.Lease / 2); ; w.sleep(ctx, w.q.o.Lease/20) {
		alive, err := w.q.log.Alive(ctx, instance)
		if alive || err != nil {
			return true
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return false
		}
	}
}

// clockScript is the time of the Redis that has a key: in a cluster TIME alone
// is answered by any of them.
const clockScript = `return redis.call('TIME')`

var clocking = goredis.NewScript(clockScript) //nolint:gochecknoglobals // a constant in all but syntax

// waited is how long a job was in the queue, by its Redis' clock.
func (w *Worker) waited(ctx context.Context, id string) stream.Maybe[time.Duration] {
	now, err := clocking.Run(ctx, w.q.log.Client(), []string{w.q.key}).StringSlice()
	if err != nil || len(now) != 2 {
		return stream.None[time.Duration]()
	}
	ms, _, _ := strings.Cut(id, "-")
	put, err := strconv.ParseInt(ms, 10, 64)
	s, err2 := strconv.ParseInt(now[0], 10, 64)
	us, err3 := strconv.ParseInt(now[1], 10, 64)
	if err != nil || err2 != nil || err3 != nil {
		return stream.None[time.Duration]()
	}
	return stream.Some(max(time.Unix(s, us*1000).Sub(time.UnixMilli(put)), 0))
}

// lost ends a stream whose worker is gone and of which somebody may have seen
// something.
func (w *Worker) lost(ctx context.Context, stream string, entries int64) {
	s, err := w.q.log.Stat(ctx, stream)
	if err == nil {
		_ = w.q.log.Finish(ctx, stream, w.runner.Lost(s.Head, entries)) // its readers find the lease gone
	}
}
