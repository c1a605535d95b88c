package gateway

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/relay"
)

// Worker runs the requests that edges took in: the ordinary session, with a
// relay log where the client would be. It is a relay.Runner.
type Worker struct {
	front *Front
	log   WorkerLog

	mu   sync.Mutex
	runs map[string]*run // by stream
}

// WorkerLog is where a worker writes: Forget drops what its process has of a
// stream that another worker took over.
type WorkerLog interface {
	relay.Shared
	Forget(stream string)
}

// NewWorker makes a worker of a gateway's configuration. What is the edges' of
// it is left out: keys, limits, pacing, certificates.
func NewWorker(c Config, o Options) (*Worker, error) {
	log, ok := o.Log.(WorkerLog)
	if !ok {
		return nil, errors.New("a worker needs relay.redis, where edges and workers meet")
	}
	w := &Worker{log: log, runs: map[string]*run{}}
	o.Queue, o.attendant = nil, w
	var err error
	if w.front, err = NewFront(workerConfig(c), o); err != nil {
		return nil, err
	}
	return w, nil
}

func workerConfig(c Config) Config {
	c.TLS, c.Keys, c.WS = TLS{}, Keys{Mode: PassThrough}, WebSocket{}
	c.Limits.Streams, c.Limits.PerRoute, c.Limits.PerKey, c.Limits.OutputPerKey = 0, 0, 0, OutputRate{}
	routes := make([]Route, len(c.Routes))
	for i, r := range c.Routes {
		r.Pacing.Enabled, r.Slow.Policy = false, Block // the log's readers are the edges'
		routes[i] = r
	}
	c.Routes = routes
	return c
}

// Reload puts another configuration in force for requests that begin; see
// Front.Reload.
func (w *Worker) Reload(c Config) error { return w.front.Reload(workerConfig(c)) }

// Former is how many old configurations still have requests.
func (w *Worker) Former() int { return w.front.Former() }

// Ready reports whether requests are taken.
func (w *Worker) Ready() bool { return w.front.Ready() }

// InFlight is how many requests run.
func (w *Worker) InFlight() int { return w.front.InFlight() }

// StopTaking says that the worker drains: Ready is false from now on.
func (w *Worker) StopTaking() { w.front.all.stopTaking() }

// Close ends every stream with an error frame and frees what the worker holds.
func (w *Worker) Close() { w.front.Close() }

// run is one request of a worker.
type run struct {
	stream    string
	resumable bool
	grace     time.Duration
	s         *session // nil until it has its place

	mu        sync.Mutex
	cause     error // why it is to end; also before it has its place
	followers int
	timer     *time.Timer // ends it where nobody follows
}

// stop ends a run.
func (r *run) stop(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil {
		r.cause = cause
	}
	if r.s != nil {
		r.s.end(r.cause)
	}
}

// began gives the run its session.
func (r *run) began(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s = s
	if r.cause != nil {
		s.end(r.cause)
	}
}

// fenced reports whether another worker has the request.
func (r *run) fenced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Is(r.cause, errFenced)
}

// How long a run goes on that nobody follows: at its start, until its edge must
// have said that it does; later, where it cannot be resumed.
const (
	mostUnseen   = 15 * time.Second
	mostUnwanted = 500 * time.Millisecond
)

// follow counts the instances that follow.
func (r *run) follow(delta int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followers += delta
	switch {
	case r.followers > 0:
		r.halt()
	case r.resumable:
		r.endAfter(r.grace, errAbandoned)
	default:
		r.endAfter(mostUnwanted, errClientGone)
	}
}

// halt stops the timer. r.mu is held.
func (r *run) halt() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// endAfter sets it. r.mu is held.
func (r *run) endAfter(d time.Duration, cause error) {
	r.halt()
	r.timer = time.AfterFunc(d, func() { r.stop(cause) })
}

func (w *Worker) find(stream string) *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[stream]
}

// Stop implements relay.Attendant: it wins over every grace window.
func (w *Worker) Stop(stream string) {
	if r := w.find(stream); r != nil {
		r.stop(errStopped)
	}
}

// Follow implements relay.Attendant.
func (w *Worker) Follow(stream string, delta int) {
	if r := w.find(stream); r != nil {
		r.follow(delta)
	}
}

// Gone implements relay.Runner: the edge's own client left. Where others may
// come, the grace window decides, once nobody follows.
func (w *Worker) Gone(stream string) {
	if r := w.find(stream); r != nil && !r.resumable {
		r.stop(errClientGone)
	}
}

// Lost implements relay.Runner.
func (w *Worker) Lost(head []byte, entries int64) []byte {
	var h streamHead
	if json.Unmarshal(head, &h) != nil || h.Format == formatBody {
		return []byte(cutMark)
	}
	f := causeFailure(errWorkerLost)
	f.text = "the worker that ran this stream is gone; " + plural(entries, "event") + " of it were kept"
	f.requestID = h.RequestID
	return h.voice().terminal(h.Format, f, entries+1, true)
}

// Run implements relay.Runner.
func (w *Worker) Run(ctx context.Context, t relay.Task) {
	gen := w.front.enter()
	defer w.front.leave(gen)
	r := &run{stream: t.Stream}
	x, req, f := w.exchange(gen.g, t, r)
	w.log.Forget(t.Stream) // of a run of this worker that was taken over
	w.mu.Lock()
	w.runs[t.Stream] = r
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.runs, t.Stream)
		w.mu.Unlock()
		r.mu.Lock()
		r.halt()
		r.mu.Unlock()
	}()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), relay.ErrFenced) {
			gen.g.log.Warn("another worker took a request over", "request_id", x.id.request)
			r.stop(errFenced)
		}
	})()
	r.mu.Lock()
	r.endAfter(mostUnseen, errClientGone)
	r.mu.Unlock()
	out := newLogWriter(x, r, w.log)
	defer out.finish()
	defer out.guard()
	if f != nil {
		x.refuse(out, f)
		return
	}
	if wait, ok := t.Waited.Get(); ok {
		x.g.see.Queued(x.route.Path, wait, "")
	}
	_, _ = x.g.gate.join(x.route, x.id.principal) // a worker has no limits but its places
	x.flight = x.g.gate.count()
	out.serve(newSession(x), req)
}

// exchange makes a request of a job. What came from the queue is not believed:
// the route is one of the configuration, or there is none.
func (w *Worker) exchange(g *Gateway, t relay.Task, r *run) (x *exchange, req *http.Request, f *failure) {
	x = &exchange{g: g, start: time.Now(), task: r, voice: voice{name: "unknown"}, queue: t.Waited, id: identity{request: t.Stream}}
	defer func() {
		if p := recover(); p != nil {
			g.crashed("worker", x.id.request, p)
			f = causeFailure(errInternal)
		}
	}()
	bad := fail("bad_job", http.StatusBadGateway, false)
	var o order
	if json.Unmarshal(t.Data, &o) != nil || !goodID(o.RequestID) || !strings.HasPrefix(o.Path, "/") {
		return x, nil, bad
	}
	req, err := http.NewRequestWithContext(context.Background(), o.Method, "http://edge"+o.Path, bytes.NewReader(o.Body))
	p, err2 := hex.DecodeString(o.Principal)
	if err != nil || err2 != nil || len(p) != len(x.id.principal) {
		return x, nil, bad
	}
	req.URL.RawQuery = o.Query
	for key, values := range o.Header {
		if len(values) == 1 && (isKeyHeader(key) || !neverForwarded(key)) {
			req.Header.Set(key, values[0])
		}
	}
	req.Header.Set("Traceparent", o.Trace)
	req.Header.Set("Tracestate", o.State)
	x.id = identify(req) // what its client gave for an id is in its edge's record
	x.id.request, x.id.principal = o.RequestID, principal(p)
	if x.past = o.Past; x.past != nil {
		x.auth, x.routing = x.past.Auth, x.past.Route
	}
	x.method, x.path, x.query = o.Method, req.URL.EscapedPath(), o.Query
	x.see(req)
	if dotted(req.URL.Path) {
		return x, nil, bad
	}
	if x.route = findRoute(g.routes, req.URL.Path); x.route == nil {
		return x, nil, bad
	}
	x.see(req)
	r.resumable, r.grace = o.Resumable, x.route.Resume.Grace
	if t.Runs > g.c.Workers.Runs {
		g.log.LogAttrs(context.Background(), slog.LevelError, "a request is given up: workers were lost over it",
			slog.String("request_id", o.RequestID), slog.Int("runs", t.Runs))
		return x, nil, fail("poison", http.StatusBadGateway, false)
	}
	return x, req, x.read(nil, req)
}
