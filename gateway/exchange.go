package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"weir/dialect"
	"weir/stream"
)

// exchange is one request, from the moment it came: everything that outlives
// the handler is a copy.
type exchange struct {
	g       *Gateway
	route   *route
	id      identity
	start   time.Time // wall and monotonic: t0
	method  string
	path    string // as it came, escaped
	query   string
	header  http.Header // what goes upstream
	body    []byte
	unread  *http.Request // as long as its body was not read to its end
	ask     ask
	dialect dialect.Dialect // the route's, or what the path tells; nil = to be seen
	voice   voice
	resume  bool // weir-resume: 1
	task    *run // what a worker has of it; nil elsewhere
	flight  int  // requests in flight when it came
	status  int  // what the client was answered; 0 = nothing yet; the handler's own

	auth, routing, queue stream.Maybe[time.Duration] // a worker's queue is that of jobs
	past                 *past                       // a worker's: what was over before it got the request
}

// past is how a request spent its time at its edge, by the edge's clock.
type past struct {
	Auth  stream.Maybe[time.Duration] `json:"auth"`
	Route stream.Maybe[time.Duration] `json:"route"`
	Queue stream.Maybe[time.Duration] `json:"queue"` // for a place
	Sent  stream.Maybe[time.Duration] `json:"sent"`  // from its coming until it was put into the queue
}

// soFar is what its worker is told of it.
func (x *exchange) soFar() *past {
	return &past{x.auth, x.routing, x.queue, stream.Some(time.Since(x.start))}
}

// sinceAsked brings a time since t0 to one since the client asked, which for a
// worker is before: its edge's time and that in the queue are added. Clocks of
// two machines are never compared.
func (x *exchange) sinceAsked(d stream.Maybe[time.Duration]) stream.Maybe[time.Duration] {
	if x.task == nil {
		return d
	}
	if x.past == nil {
		return stream.None[time.Duration]()
	}
	return total(x.past.Sent, x.queue, d)
}

// waited is all that the request waited for a place and for a worker.
func (x *exchange) waited() stream.Maybe[time.Duration] {
	if x.past != nil {
		return total(x.past.Queue, x.queue)
	}
	return x.queue
}

// total is the sum of times; missing where one of them is.
func total(all ...stream.Maybe[time.Duration]) stream.Maybe[time.Duration] {
	var sum time.Duration
	for _, d := range all {
		v, ok := d.Get()
		if !ok {
			return d
		}
		sum += v
	}
	return stream.Some(sum)
}

// since is the time since t0.
func (x *exchange) since(t time.Time) time.Duration { return t.Sub(x.start) }

// serve is the way of every request that is not the gateway's own.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	id := identify(r)
	id.tell(w.Header())
	x := &exchange{g: g, id: id, start: start, method: r.Method, path: r.URL.EscapedPath(), query: r.URL.RawQuery, unread: r}
	defer x.answered(r.TLS != nil)
	x.see(r)
	if !g.keys.admits(id.principal) {
		x.refuse(w, noKey())
		return
	}
	seen := time.Now()
	x.auth = stream.Some(seen.Sub(start))
	if dotted(r.URL.Path) {
		x.refuse(w, &failure{reason: "bad_path", text: "the path has a segment . or .., which could lead outside its route", status: http.StatusBadRequest})
		return
	}
	if x.route = findRoute(g.routes, r.URL.Path); x.route == nil {
		x.refuse(w, &failure{reason: "no_route", text: "no route of the gateway has this path", status: http.StatusNotFound})
		return
	}
	x.see(r)
	x.routing = stream.Some(time.Since(seen))
	if f := x.enter(w, r); f != nil {
		x.refuse(w, f)
		return
	}
	newSession(x).serve(w, r)
}

// enter lets the request in. It joins the limits first, so that nobody whom
// they keep out can make the gateway hold a body, and so that all bodies in
// memory are counted: no more than streams and queue together. Only then is the
// body read, and the place waited for: while a body is unread net/http does not
// look whether its client left, so that who waited before would be waited for
// in vain. The price is that a slow body may hold a place, for no longer than
// limits.body_wait allows.
func (x *exchange) enter(w http.ResponseWriter, r *http.Request) *failure {
	g := x.g
	if !g.Ready() {
		g.see.Queued(x.route.Path, 0, "draining")
		return &failure{reason: "draining", text: "the gateway is closing and takes no new requests", status: http.StatusServiceUnavailable, retryable: true, after: comeAgain()}
	}
	spot, no := g.gate.join(x.route, x.id.principal)
	if no != nil {
		return x.overloaded(no)
	}
	if f := x.read(w, r); f != nil {
		g.gate.giveUp(spot)
		return f
	}
	return x.admit(r.Context(), spot)
}

// see finds out how to speak to the client: by its route, else by its path.
func (x *exchange) see(r *http.Request) {
	if x.route != nil && x.route.dialect != nil {
		x.dialect = x.route.dialect
	} else if h := (dialect.Hint{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}); dialect.Decides(h) {
		x.dialect, _ = dialect.Detect(h)
	}
	x.voice = voiceOf(x.dialect)
}

// read takes the body in, so that it can be sent again and the connection's
// end can be seen.
func (x *exchange) read(w http.ResponseWriter, r *http.Request) *failure {
	body, f := readBody(w, r, x.g.c.Limits)
	if f != nil {
		return f
	}
	x.body, x.unread = body, nil
	x.ask = readAsk(r, body, x.dialect)
	x.resume = one(r.Header, "Weir-Resume") == "1"
	name := ""
	if x.dialect != nil {
		name = x.dialect.Name()
	}
	if x.g.edge != nil {
		x.g.edge.read(x, r.Header)
		return nil
	}
	x.header = upstreamHeader(r.Header, x.route.upstream, x.id, x.g.keys, name)
	if !x.g.keys.open || x.route.upstream.key.s != "" {
		x.query = withoutKey(x.query)
	}
	return nil
}

// withoutKey drops a key that a client of Gemini put into the query.
func withoutKey(query string) string {
	q, err := url.ParseQuery(query)
	if err != nil {
		return "" // what cannot be read may hold a key
	}
	if !q.Has("key") {
		return query
	}
	q.Del("key")
	return q.Encode()
}

// admit waits for the place. Whoever got one must give it back.
func (x *exchange) admit(ctx context.Context, spot *waiter) *failure {
	began := time.Now()
	no := x.g.gate.wait(ctx, spot)
	wait := time.Since(began)
	x.queue = stream.Some(wait)
	if no != nil {
		return x.overloaded(no)
	}
	x.flight = x.g.gate.count()
	x.g.see.Queued(x.route.Path, wait, "")
	return nil
}

// overloaded is the failure of a request that got no place.
func (x *exchange) overloaded(no *refusal) *failure {
	x.g.see.Queued(x.route.Path, x.queue.Or(0), no.reason)
	if no.reason == "gone" {
		x.g.see.Cancelled(x.route.Path, "queued", "client_gone", stream.None[int]())
	}
	return &failure{reason: "overloaded_" + no.reason, text: no.text, status: no.status, retryable: true, after: time.Second}
}

// refuse answers a request that never got upstream.
func (x *exchange) refuse(w http.ResponseWriter, f *failure) {
	f.requestID = x.id.request
	if t, ok := w.(told); ok {
		t.refused(f)
	}
	line := []slog.Attr{slog.String("request_id", x.id.request), slog.String("method", x.method), slog.String("path", x.path),
		slog.Int("status", f.status), slog.String("reason", f.reason)}
	x.g.log.LogAttrs(context.Background(), slog.LevelInfo, "refused", append(line, x.id.said()...)...)
	if x.unread != nil {
		skipBody(w, x.unread)
	}
	contentType, body := x.voice.body(f)
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	if f.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int((f.after+time.Second-1)/time.Second)))
	}
	if !x.g.Ready() {
		h.Set("Connection", "close") // the next try is another gateway's
	}
	x.status = f.status
	w.WriteHeader(f.status)
	_, _ = w.Write(body) // a client that left needs no answer
}

// answered tells what the client got, when its handler returns.
func (x *exchange) answered(tls bool) {
	route := ""
	if x.route != nil {
		route = x.route.Path
	}
	x.g.see.Answered(x.method, route, x.status, tls, time.Since(x.start))
}

// unauthorized refuses a request to one of the gateway's own paths.
func (g *Gateway) unauthorized(w http.ResponseWriter, r *http.Request, id identity) {
	x := &exchange{g: g, id: id, method: r.Method, path: r.URL.EscapedPath()} // whose body was skipped
	x.see(r)
	id.tell(w.Header())
	x.refuse(w, noKey())
}

func noKey() *failure {
	return &failure{reason: "unauthorized", text: "a key that the gateway knows is needed", status: http.StatusUnauthorized}
}
