package jobs

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/relay"
	"weir/relay/redis"
	"weir/relay/redis/redistest"
	"weir/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit ends a test that hangs; lease is one that a test need not wait long for.
const (
	limit = 30 * time.Second
	lease = 1200 * time.Millisecond
)

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// until polls for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to pass: %s", what)
		}
	}
}

// cable is the way of one process to Redis. A process whose cable is cut is dead
// to all others, and comes back late when it is mended.
type cable struct {
	l    net.Listener
	far  string
	mu   sync.Mutex
	cut  bool
	open map[net.Conn]bool
	wait sync.WaitGroup
}

func lay(t testing.TB, s *redistest.Server) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{l: l, far: s.Addr(), open: map[net.Conn]bool{}}
	c.wait.Go(c.serve)
	t.Cleanup(func() {
		_ = l.Close()
		c.sever()
		c.wait.Wait()
	})
	return c
}

func (c *cable) url() string { return "redis://" + c.l.Addr().String() + "/0" }

func (c *cable) serve() {
	for {
		near, err := c.l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.far)
		if err != nil || !c.note(near, far) {
			_ = near.Close()
			if far != nil {
				_ = far.Close()
			}
			continue
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			c.wait.Go(func() {
				_, _ = io.Copy(way[0], way[1]) // however it ends, both do
				_, _ = near.Close(), far.Close()
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.open, near)
				delete(c.open, far)
			})
		}
	}
}

func (c *cable) note(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		if !c.cut {
			c.open[conn] = true
		}
	}
	return !c.cut
}

// sever cuts the cable.
func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for conn := range c.open {
		_ = conn.Close()
	}
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}

// process is what one has that puts jobs, or takes them.
type process struct {
	*counts
	t     testing.TB
	cable *cable
	log   *redis.Log
	queue *Queue
	work  *Worker
}

func newProcess(t testing.TB, s *redistest.Server, o Options) *process {
	t.Helper()
	p := &process{t: t, cable: lay(t, s), counts: &counts{dropped: map[string]int{}}}
	log, err := redis.New(redis.Options{URL: p.cable.url(), Lease: lease, Check: 100 * time.Millisecond, Outage: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	if o.Lease == 0 {
		o.Lease = lease
	}
	o.Observer = p.counts
	p.log, p.queue = log, New(log, o)
	until(t, "the process is seen", func() bool { ok, err := log.Alive(within(t), log.Instance()); return ok && err == nil })
	return p
}

// worker is a process that takes jobs and has them run by r.
func newWorker(t testing.TB, s *redistest.Server, o Options, r relay.Runner) *process {
	t.Helper()
	p := newProcess(t, s, o)
	p.work = p.queue.Work(r)
	t.Cleanup(func() {
		if h, ok := r.(*holder); ok {
			h.open()
		}
		p.work.Close()
	})
	return p
}

// put puts a job of which the data says the stream's name.
func (p *process) put(stream string) (ticket string) {
	p.t.Helper()
	ticket, err := p.queue.Put(within(p.t), relay.Job{Stream: stream, Head: []byte("head"), Data: []byte("data of " + stream)})
	if err != nil {
		p.t.Fatalf("put %s: %v", stream, err)
	}
	return ticket
}

// begin opens a job's stream and writes so many entries.
func (p *process) begin(stream string, entries int) {
	p.t.Helper()
	if _, err := p.log.Open(within(p.t), stream, []byte("head")); err != nil {
		p.t.Errorf("open %s: %v", stream, err)
	}
	for range entries {
		p.say(stream, "word", false)
	}
}

func (p *process) say(stream, text string, last bool) {
	p.t.Helper()
	if _, err := p.log.Append(within(p.t), stream, relay.Entry{Frame: []byte(text), Terminal: last}); err != nil {
		p.t.Errorf("append to %s: %v", stream, err)
	}
}

// reading is what a reader got: its text, then how it ended.
func (p *process) reading(stream string) (text string, err error) {
	ctx := within(p.t)
	if _, err = p.log.Await(ctx, stream); err != nil {
		return "", err
	}
	var b strings.Builder
	for e, err := range p.log.After(ctx, stream, relay.Position{}) {
		if err != nil {
			return b.String(), err
		}
		b.WriteString(string(e.Frame) + ".")
	}
	return b.String(), nil
}

// counts is an Observer.
type counts struct {
	mu      sync.Mutex
	taken   int
	over    int
	dropped map[string]int
}

func (c *counts) JobTaken(_ stream.Maybe[time.Duration], over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken++; over {
		c.over++
	}
}

func (c *counts) JobDropped(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped[reason]++
}

func (c *counts) Jobs(int64, int) {}

func (c *counts) drops(reason string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped[reason]
}

func (c *counts) takeovers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// runner runs jobs as told, and remembers them.
type runner struct {
	do func(ctx context.Context, t relay.Task) // nil: it returns at once

	mu    sync.Mutex
	tasks []relay.Task
	ended map[string]error // by stream: why its context ended, when its job did
	gone  []string
}

func (r *runner) Run(ctx context.Context, t relay.Task) {
	r.mu.Lock()
	r.tasks = append(r.tasks, t)
	r.mu.Unlock()
	if r.do != nil {
		r.do(ctx, t)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = map[string]error{}
	}
	r.ended[t.Stream] = context.Cause(ctx)
}

func (r *runner) Lost([]byte, int64) []byte { return []byte("lost") }

func (r *runner) Gone(stream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = append(r.gone, stream)
}

func (r *runner) list() []relay.Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]relay.Task(nil), r.tasks...)
}

func (r *runner) runs() int { return len(r.list()) }

// end is why a job's context had ended when the job did; ok: it did.
func (r *runner) end(stream string) (cause error, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cause, ok = r.ended[stream]
	return cause, ok
}

func (r *runner) left() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.gone...)
}

// holder is a runner whose jobs run until the gate is opened, or they are
// another's.
type holder struct {
	runner
	gate chan struct{}
	once sync.Once
}

// holding makes one that first does a job's beginning, where there is one. The
// end of its worker's test opens the gate.
func holding(first func(relay.Task)) *holder {
	h := &holder{gate: make(chan struct{})}
	h.do = func(ctx context.Context, task relay.Task) {
		if first != nil {
			first(task)
		}
		select {
		case <-h.gate:
		case <-ctx.Done():
		}
	}
	return h
}

func (h *holder) open() { h.once.Do(func() { close(h.gate) }) }

// empty waits until no job waits and none is anybody's.
func empty(t testing.TB, s *redistest.Server) {
	t.Helper()
	until(t, "the queue is empty", func() bool {
		return strings.HasPrefix(s.Do("XLEN weir:{jobs}"), ":0") && strings.HasPrefix(s.Do("XPENDING weir:{jobs} workers"), "*4\r\n:0")
	})
}

// beginning is a worker that opens each of its jobs' streams, writes so many
// entries, and then holds the job.
func beginning(t *testing.T, s *redistest.Server, entries int) (w *process, h *holder) {
	h = holding(func(task relay.Task) { w.begin(task.Stream, entries) })
	w = newProcess(t, s, Options{})
	w.work = w.queue.Work(h)
	t.Cleanup(func() { h.open(); w.work.Close() })
	return w, h
}
