package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"golang.org/x/net/http/httpguts"

	"weir/relay"
	"weir/stream"
)

// edge is what a gateway has that asks workers instead of services.
type edge struct {
	queue relay.Queue
	log   relay.Shared
	named map[string]bool // services that have a key of their own: the callers' stay here
}

// newEdge makes c what an edge needs: it reads no service's key, and what a
// route says of services is the workers' to do.
func newEdge(o Options, c *Config) (*edge, error) {
	log, ok := o.Log.(relay.Shared)
	if !ok {
		return nil, errors.New("role edge needs relay.redis, where edges and workers meet")
	}
	e := &edge{queue: o.Queue, log: log, named: map[string]bool{}}
	ups := map[string]Upstream{}
	for name, u := range c.Upstreams {
		e.named[name] = u.KeyEnv != "" || u.KeyFile != ""
		u.KeyEnv, u.KeyFile, u.CACert, u.Warm = "", "", "", 0
		ups[name] = u
	}
	c.Upstreams = ups
	routes := make([]Route, len(c.Routes))
	for i, r := range c.Routes {
		r.Open, r.MetaEvent = Opening{Mode: Early, Hold: 1000 * time.Hour}, false // the worker's opening is this one's
		r.Silence, r.Floor, r.Retry.Attempts = Silence{}, Floor{Window: time.Second}, 1
		routes[i] = r
	}
	c.Routes = routes
	return e, nil
}

// hop is the name of this process in records.
func (g *Gateway) hop() string {
	if g.edge != nil {
		return "edge"
	}
	return "gateway"
}

// order is a request as it goes through the queue. It names no address: the
// worker finds the route in its own configuration. It holds the caller's key
// only where that is to be passed on to a service.
type order struct {
	RequestID string      `json:"request_id"`
	Trace     string      `json:"traceparent"`
	State     string      `json:"tracestate,omitempty"`
	Principal string      `json:"principal"`
	Method    string      `json:"method"`
	Path      string      `json:"path"`
	Query     string      `json:"query,omitempty"`
	Header    http.Header `json:"header"`
	Body      []byte      `json:"body,omitempty"`
	Resumable bool        `json:"resumable,omitempty"`
	Past      *past       `json:"past,omitempty"`
}

// read takes what of a request's header its worker needs.
func (e *edge) read(x *exchange, in http.Header) {
	up := x.route.upstream
	pass := x.g.keys.open && !e.named[up.name]
	named := namedByConnection(in)
	x.header = http.Header{}
	for key := range in {
		switch {
		case named[key], isKeyHeader(key) && !pass:
			continue
		case !isKeyHeader(key) && (neverForwarded(key) || !(passedOn[key] || up.forward[key] || hasPassedPrefix(key))):
			continue
		}
		if v := one(in, key); v != "" && httpguts.ValidHeaderFieldValue(v) {
			x.header.Set(key, v)
		}
	}
	if !pass {
		x.query = withoutKey(x.query)
	}
}

// order is the job of a request.
func (x *exchange) order(stream string, resumable bool) (relay.Job, error) {
	o := order{RequestID: x.id.request, Trace: x.id.trace, State: x.id.state, Principal: principalText(x.id.principal), Method: x.method,
		Path: x.path, Query: x.query, Header: x.header, Body: x.body, Resumable: resumable,
		Past: x.soFar()}
	data, err := json.Marshal(o)
	if err != nil {
		return relay.Job{}, err
	}
	h := x.head()
	h.Private = !resumable
	head, err := json.Marshal(h)
	return relay.Job{Stream: stream, Head: head, Data: data}, err
}

// head is what others may know of a stream before it is opened.
func (x *exchange) head() streamHead {
	h := streamHead{Principal: principalText(x.id.principal), RequestID: x.id.request}
	if x.route != nil {
		h.Heartbeat, h.Write = x.route.Heartbeat, x.route.Slow.WriteTimeout
	}
	if x.dialect != nil {
		h.Dialect = x.dialect.Name()
	}
	return h
}

// headRefusal is why a worker's answer is none, as its edge is told it.
type headRefusal struct {
	Reason    string `json:"reason"`
	Text      string `json:"text,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
}

func (f *failure) forHead() *headRefusal {
	if f == nil {
		return nil
	}
	return &headRefusal{f.reason, f.text, f.retryable}
}

// failure is the same at the edge.
func (h *streamHead) failure() *failure {
	if h.Refusal == nil {
		return nil
	}
	return &failure{reason: h.Refusal.Reason, text: h.Refusal.Text, status: h.Status, retryable: h.Refusal.Retryable,
		after: retryAfter(h.Header, time.Now())}
}

// headPhases are what a worker knows of its phases when its answer begins.
type headPhases struct {
	Queue   stream.Maybe[time.Duration] `json:"queue"`        // how long it was in the queue of jobs
	Connect stream.Maybe[time.Duration] `json:"connect"`      // how long dialling took
	Headers stream.Maybe[time.Duration] `json:"headers"`      // since the client asked
	Output  stream.Maybe[time.Duration] `json:"first_output"` // since the client asked

	Attempts int `json:"attempts,omitempty"` // so far
}

// known is what a worker can say of its phases.
func (s *session) known() *headPhases {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &headPhases{Queue: s.x.queue, Connect: s.seen.connect, Headers: s.x.sinceAsked(s.seen.headers), Output: s.x.sinceAsked(s.firstOut), Attempts: s.attempts}
}

// hear takes what the worker said. Nothing of it was after it was heard, which
// the milliseconds of the queue's clock could make of it.
func (s *session) hear(p *headPhases) {
	if p == nil {
		return
	}
	heard := s.x.since(time.Now())
	at := func(d stream.Maybe[time.Duration]) stream.Maybe[time.Duration] {
		if v, ok := d.Get(); ok {
			return stream.Some(min(v, heard))
		}
		return d
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = max(s.attempts, p.Attempts)
	s.seen = seen{worker: at(p.Queue), connect: p.Connect, headers: at(p.Headers), output: at(p.Output)}
}

// queueFailure is why a request did not get to a worker.
func (x *exchange) queueFailure(ctx context.Context, err error) *failure {
	var reason string
	f := &failure{status: http.StatusServiceUnavailable, retryable: true, after: comeAgain()}
	switch {
	case ctx.Err() != nil:
		return causeFailure(context.Cause(ctx))
	case errors.Is(err, relay.ErrQueueFull):
		f.reason, f.text = "overloaded_workers", relay.ErrQueueFull.Error()
		reason = "workers_full"
	default:
		f.reason, f.text = reasonDown, texts[reasonDown]
		reason = "relay_down"
	}
	x.g.see.Queued(x.route.Path, time.Since(x.start), reason)
	return f
}
