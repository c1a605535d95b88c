package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/stream"
)

// session is an exchange on its way: the pump (one goroutine) asks the
// upstream and reads, the writer (the handler's goroutine) owns the client's
// response. The queue lies between. Without a client the pump may go on, where
// the stream is resumable. What every event needs stands together, as in tap.Tap.
type session struct {
	x     *exchange
	out   atomic.Pointer[writer] // takes events from the pump itself; nil: they go through the queue
	q     queue
	clock clocks
	keep  keeper // nil: not kept
	pace  *pacer // nil: not paced
	meter *meter // nil: no output rate

	more   bool // the read that is being taken apart holds more: what is sent may gather
	gather load // of one read, to leave in one write

	mu        sync.Mutex
	delivered Amount
	tokens    int // delivered, where they are counted

	result // the pump's own, until it ended

	live *live // nil: cannot be followed

	ctx context.Context // of everything upstream; its cause says who ended it
	end context.CancelCauseFunc

	owners atomic.Int32 // pump and writer: the last gives the place back

	// Guarded by mu, too.
	opening   *opening                    // what the client was or is to be answered
	opened    chan struct{}               // closed when it is known
	head      *opening                    // what a held stream will be answered, once headers came
	firstSent stream.Maybe[time.Duration] // since t0: just before the first output was written
	clients   int
	grace     *time.Timer
	seen      seen
}

// seen is what is known of the way to the service while a request runs. At an
// edge it is what its worker said.
type seen struct {
	worker, connect stream.Maybe[time.Duration] // how long it was in the queue of jobs, and dialling took
	headers, output stream.Maybe[time.Duration] // since t0; output only an edge's
}

// opening is how an answer begins.
type opening struct {
	status int
	header http.Header
	stream bool
	format string
	voice  voice

	refusal *failure // why it is none; nil: it is one
}

func newSession(x *exchange) *session {
	g := x.g
	s := &session{x: x, opened: make(chan struct{}), clients: 1}
	s.ctx, s.end = context.WithCancelCause(g.ctx)
	s.q.init(int(x.route.Slow.Bytes))
	s.clock.s = s
	s.pumped = make(chan struct{})
	s.pace, s.meter = newPacer(s), newMeter(s)
	s.owners.Store(2)
	s.register()
	return s
}

// register makes the stream known to those who may stop or follow it.
func (s *session) register() {
	x := s.x
	if !x.ask.streamed {
		return
	}
	s.live = &live{id: x.streamID(), requestID: x.id.request, principal: x.id.principal, route: x.route,
		started: x.start, ids: x.resume && x.voice.name != "gemini",
		resumable: x.wantsResume(),
		stop:      func(reason string) { s.end(stopCause(reason)) }, follow: s.follow}
	if x.dialect != nil {
		s.live.dialect = x.dialect.Name()
	}
	x.g.streams.add(s.live)
}

// wantsResume reports whether the stream is to be kept for others to follow.
func (x *exchange) wantsResume() bool {
	return (x.route.Resume.Enabled || x.resume) && x.g.o.Log != nil && x.task == nil
}

// streamID is the id of its stream: new, or the one that its edge gave.
func (x *exchange) streamID() string {
	if x.task != nil {
		return x.task.stream
	}
	return randomID()
}

func stopCause(reason string) error {
	if reason == errShutdown.Error() {
		return errShutdown
	}
	return errStopped
}

// serve runs the session until its client has what it gets.
func (s *session) serve(w http.ResponseWriter, r *http.Request) {
	s.x.g.see.Started(s.x.route.Path)
	if t, ok := w.(told); ok {
		t.began(s)
	}
	s.x.g.running.Go(s.pump)
	defer s.leave()
	s.write(w, r)
}

// leave is the one place where a request's place is given back: when both the
// pump and the writer are done with it.
func (s *session) leave() {
	if s.owners.Add(-1) > 0 {
		return
	}
	defer s.x.g.gate.leave(s.x.route, s.x.id.principal)
	defer s.end(nil)
	if s.live != nil {
		s.x.g.streams.remove(s.live)
	}
	s.mu.Lock()
	if s.grace != nil {
		s.grace.Stop()
	}
	s.mu.Unlock()
	s.conclude()
}

// open answers the client, if nothing has yet; it reports whether it was this
// call that did.
func (s *session) open(o *opening) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening != nil {
		return false
	}
	s.opening = o
	close(s.opened)
	return true
}

// openWith answers the client with a whole body instead of what is held, if
// nothing has answered it yet: both at once, or the hold could end in between.
func (s *session) openWith(o *opening, body []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening != nil {
		return false
	}
	s.q.unsay()
	s.q.put(&load{bytes: body, clean: true})
	s.opening = o
	close(s.opened)
	return true
}

// openHeld opens a stream whose hold has ended: with the upstream's headers
// where they came, else with a status of our own.
func (s *session) openHeld() {
	s.mu.Lock()
	head := s.head
	s.mu.Unlock()
	if head == nil {
		head = s.x.blindOpening()
	}
	if s.open(head) {
		s.x.g.see.Opened(s.x.route.Path, "hold")
	}
}

// current is the opening, nil while there is none.
func (s *session) current() *opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opening
}

// blindOpening begins a stream before the upstream has answered, in the framing
// that the client asked for.
func (x *exchange) blindOpening() *opening {
	h := http.Header{}
	o := &opening{status: http.StatusOK, header: h, stream: true, format: "sse", voice: x.voice}
	contentType := x.voice.contentType()
	switch {
	case x.voice.name == "ollama":
		o.format = "ndjson"
	case x.asksArray():
		o.format, contentType = "json-array", "application/json"
	}
	streamHeader(h, contentType)
	return o
}

// asksArray reports whether the answer is to be Gemini's JSON array.
func (x *exchange) asksArray() bool {
	if x.voice.name != "gemini" || !strings.Contains(x.path, ":streamGenerateContent") {
		return false
	}
	q, _ := url.ParseQuery(x.query) // what cannot be read does not ask for sse
	return q.Get("alt") != "sse"
}

// follow counts the clients of a stream. The last to leave starts the grace
// window; whoever comes within it stops it.
func (s *session) follow(delta int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients += delta
	switch {
	case s.ctx.Err() != nil:
		return false
	case s.clients > 0 && s.grace != nil:
		s.grace.Stop()
		s.grace = nil
	case s.clients == 0 && s.grace == nil:
		s.grace = time.AfterFunc(s.x.route.Resume.Grace, func() { s.end(errAbandoned) })
	}
	return true
}

// lost says that the session's own client is gone: a resumable stream goes on
// for the grace window, any other is cancelled.
func (s *session) lost(cause error) {
	s.q.leave()
	if s.live != nil && s.live.canResume() && s.x.g.edge == nil { // an edge's goes on at its worker
		s.follow(-1)
		return
	}
	s.end(cause)
}

// speaks notes when the first output is about to be written to the client.
func (s *session) speaks(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firstSent = stream.Some(s.x.since(now))
}

// deliveredNow adds what a write brought to the client.
func (s *session) deliveredNow(l *load) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivered.Events += l.events
	s.delivered.Bytes += int64(len(l.bytes))
	s.tokens += l.tokens
}

// amounts are what was delivered so far.
func (s *session) amounts() Amount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivered
}
