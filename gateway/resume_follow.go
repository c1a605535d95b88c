package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"weir/relay"
)

// serveStream gives a stream's events after a position, those that are there
// and those that come, to the one who opened it.
func (g *Gateway) serveStream(w http.ResponseWriter, r *http.Request) {
	id := identify(r)
	if !g.keys.admits(id.principal) {
		g.unauthorized(w, r, id)
		return
	}
	stream := r.PathValue("id")
	head, state, err := g.findKept(r.Context(), stream, id.principal)
	if f := sharedFailure(err); f != nil && r.Context().Err() == nil {
		refuseOwn(w, id, f)
		return
	}
	if err != nil || head.Stream != "" || head.Private {
		noStream(w, id)
		return
	}
	p, asked, err := position(r, stream)
	if err != nil {
		refuseOwn(w, id, &failure{reason: "bad_position", text: err.Error(), status: http.StatusBadRequest})
		return
	}
	if g.nothingAfter(r.Context(), stream, state, p) {
		streamIdentity(w.Header(), id, stream)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	f := &follower{g: g, w: w, id: id, stream: stream, head: head, at: p, newest: state.Last.Offset, hint: hint{drain: g.drain}}
	f.stamps = (asked || one(r.Header, "Weir-Resume") == "1") && head.Format == "sse" && head.Dialect != "gemini"
	f.serve(r)
}

// findKept is a stream in the relay log. One that runs and has not begun is
// waited for; its error is relay.ErrPending where that takes too long.
func (g *Gateway) findKept(ctx context.Context, stream string, p principal) (streamHead, relay.State, error) {
	h, s, err := g.keptElsewhere(ctx, stream, p)
	if err == nil {
		return h, s, nil
	}
	if l := g.streams.find(stream, p); l != nil && (l.ids || l.route.Resume.Enabled) {
		return g.awaitKept(ctx, l)
	}
	if errors.Is(err, relay.ErrPending) {
		return g.awaitElsewhere(ctx, stream, p)
	}
	return h, s, err
}

// mostAwait is how long a reader waits for the first event of a stream that
// has not begun.
const mostAwait = 20 * time.Second

// awaitKept waits until a stream that runs is in the relay log, which is when
// its upstream answered, or is known not to be kept. Who waits counts as its
// reader.
func (g *Gateway) awaitKept(ctx context.Context, l *live) (streamHead, relay.State, error) {
	l.follow(+1)
	defer l.follow(-1)
	t := time.NewTimer(mostAwait)
	defer t.Stop()
	if settled := l.whenSettled(); settled != nil {
		select {
		case <-settled:
		case <-t.C:
			return streamHead{}, relay.State{}, relay.ErrPending
		case <-ctx.Done():
			return streamHead{}, relay.State{}, context.Cause(ctx)
		}
	}
	h, s, err := g.keptElsewhere(ctx, l.id, l.principal)
	if err != nil && l.canResume() && g.streams.find(l.id, l.principal) != nil {
		err = relay.ErrPending // between two attempts
	}
	return h, s, err
}

// nothingAfter reports whether the stream has ended and nothing of it follows a
// position: a terminal entry without bytes is nothing.
func (g *Gateway) nothingAfter(ctx context.Context, stream string, s relay.State, p relay.Position) bool {
	if s.Complete(p) {
		return true
	}
	if !s.Ended || p.Offset != s.Last.Offset-1 || p.Offset < s.First.Offset {
		return false
	}
	for e, err := range g.o.Log.After(ctx, stream, p) {
		return err == nil && e.Terminal && len(e.Frame) == 0
	}
	return false
}

// position is where a reader wants to go on. asked says that it came as an
// event id, which only clients have that asked for ids.
func position(r *http.Request, stream string) (p relay.Position, asked bool, err error) {
	if last := r.Header["Last-Event-Id"]; len(last) > 1 {
		return p, false, errors.New("Last-Event-ID was sent twice; send the id of the last event")
	} else if len(last) == 1 && last[0] != "" {
		of, p, err := relay.ParseID(last[0])
		if err != nil || of != stream {
			return p, false, errors.New("Last-Event-ID is not an id of this stream; send the one of the last event, or after=N")
		}
		return p, true, nil
	}
	if q := r.URL.Query(); q.Has("after") {
		if p.Offset, err = relay.ParseOffset(q.Get("after")); err != nil {
			return p, false, errors.New("after is " + err.Error())
		}
	}
	return p, false, nil
}

func noStream(w http.ResponseWriter, id identity) {
	refuseOwn(w, id, &failure{reason: "not_found", text: "there is no such stream", status: http.StatusNotFound})
}

// refuseOwn answers a request to one of the gateway's own paths.
func refuseOwn(w http.ResponseWriter, id identity, f *failure) {
	f.requestID = id.request
	if t, ok := w.(told); ok {
		t.refused(f)
	}
	contentType, body := voice{name: "unknown"}.body(f)
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	id.tell(h)
	if f.retryable {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(body)
}

func streamIdentity(h http.Header, id identity, stream string) {
	id.tell(h)
	h.Set("Weir-Stream", stream)
	h.Set("Weir-Resumable", "true")
}

// follower brings what a relay log has of a stream to one client. It is the
// goroutine of its request and owns the response; the session knows nothing of
// it but that it is there.
type follower struct {
	g      *Gateway
	w      http.ResponseWriter
	rc     *http.ResponseController
	id     identity
	stream string
	head   streamHead
	at     relay.Position
	newest int64 // the newest entry when it came: those before it are flushed together
	stamps bool
	hint   hint

	begun bool
	first bool // a stamped event went out
	wrote time.Time
	wait  int       // bytes not flushed
	limit time.Time // write deadline in force
	http2 bool
	buf   []byte

	takeover takeover
}

// errQuiet is the cause of a wait that is only interrupted for a heartbeat.
var errQuiet = errors.New("no event for the time of a heartbeat")

// lastWait is how long a follower waits for the terminal event when the gateway
// closes.
const lastWait = 500 * time.Millisecond

// serve is the whole of a follower's request.
func (f *follower) serve(r *http.Request) {
	defer func() { f.failed(recover()) }()
	f.rc, f.http2 = http.NewResponseController(f.w), r.ProtoMajor >= 2
	if r.Method == http.MethodHead {
		f.begin()
		return
	}
	if l := f.g.streams.find(f.stream, f.id.principal); l != nil {
		l.follow(+1)
		defer l.follow(-1)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(f.g.ctx, func() { cancel(errClosing) })()
	err := f.run(ctx)
	if errors.Is(err, errClosing) { // the stream was ended before that: its last event is there, or soon
		err = f.bring(r.Context(), lastWait)
	}
	_ = f.rc.SetWriteDeadline(time.Time{}) // the connection may serve another request
	switch {
	case err == nil:
		f.begin()
	case !f.begun:
		f.refuse(err)
	case errors.Is(err, relay.ErrGap), errors.Is(err, relay.ErrGone):
		if t, ok := f.w.(told); ok {
			t.refused(gapFailure(f.id.request, err.Error()))
		}
		_ = f.put(gapFrame(f.head, err.Error()), true) // it is the end, with or without
	case sharedFailure(err) != nil:
		_ = f.put(f.lastFrame(sharedFailure(err)), true)
	default:
		panic(http.ErrAbortHandler) // a broken connection, so that nobody takes it for the end
	}
}

// lastFrame tells a failure in the stream, to whoever the client is.
func (f *follower) lastFrame(fail *failure) []byte {
	fail.requestID = f.id.request
	if t, ok := f.w.(told); ok {
		t.refused(fail)
	}
	return f.head.voice().terminal(f.head.Format, fail, 0, true)
}

// refuse answers a reader that got nothing yet.
func (f *follower) refuse(err error) {
	switch {
	case errors.Is(err, relay.ErrGap):
		refuseOwn(f.w, f.id, gapFailure("", err.Error()))
	case errors.Is(err, relay.ErrGone):
		noStream(f.w, f.id)
	case errors.Is(err, relay.ErrBusy):
		refuseOwn(f.w, f.id, &failure{reason: "too_many_readers", text: "this stream has as many readers as it may", status: http.StatusTooManyRequests, retryable: true})
	case sharedFailure(err) != nil:
		refuseOwn(f.w, f.id, sharedFailure(err))
	default:
		panic(http.ErrAbortHandler)
	}
}

// begin sends status and headers.
func (f *follower) begin() {
	if f.begun {
		return
	}
	f.begun, f.wrote = true, time.Now()
	h := f.w.Header()
	streamHeader(h, contentTypeOf(f.head.Format))
	streamIdentity(h, f.id, f.stream)
	f.w.WriteHeader(http.StatusOK)
}

func contentTypeOf(format string) string {
	switch format {
	case "ndjson":
		return "application/x-ndjson"
	case "json-array":
		return "application/json"
	}
	return "text/event-stream"
}

// run brings events until the terminal one. A reader of the present gets its
// headers at once, so that it knows it is one.
func (f *follower) run(ctx context.Context) error {
	beat := f.head.voice().heartbeat(f.head.Format)
	pause := f.head.Heartbeat
	if beat == nil || pause <= 0 {
		pause = 1 << 62
	}
	first := pause
	if f.at.Offset >= f.newest {
		first = time.Millisecond // nothing may be there; a gap shows before that
	}
	for wait := first; ; {
		err := f.bring(ctx, wait)
		if errors.Is(err, relay.ErrPending) && f.at.Offset == 0 && f.g.shared() != nil {
			err = f.anew(ctx, wait)
		}
		if errors.Is(err, relay.ErrOrphaned) && f.at.Offset == 0 && f.g.edge != nil {
			if err = f.takeover.bear(ctx); err == nil {
				err = errQuiet
			}
		}
		if !errors.Is(err, errQuiet) {
			return err
		}
		err, wait = nil, pause
		switch left := pause - time.Since(f.wrote); {
		case !f.begun:
			f.begin()
			err = f.rc.Flush()
		case left > 0: // events came in that time
			wait = left
		default:
			err = f.beat(beat)
		}
		if err != nil {
			return err
		}
	}
}

// errAnother says that a stream was begun anew with another status or format
// than what its reader was told.
var errAnother = errors.New("another answer than the one that was begun here")

// anew waits for a stream that was open, had no event yet, and is not open any
// more: its worker is gone, and another has taken it.
func (f *follower) anew(ctx context.Context, wait time.Duration) error {
	f.at = relay.Position{} // of another epoch
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errQuiet)
	defer cancel()
	state, err := f.g.shared().Await(ctx, f.stream)
	if err != nil {
		return err
	}
	head, _, err := ownHead(state, f.id.principal)
	if err == nil && (head.Format != f.head.Format || head.Status != f.head.Status) {
		err = errAnother
	}
	if err != nil {
		return err
	}
	return errQuiet
}

func (f *follower) beat(beat []byte) error {
	if t, ok := f.w.(told); ok {
		f.wrote = time.Now()
		return t.beat()
	}
	return f.put(beat, true)
}

// bring brings events, for at most the time of the wait where none come.
func (f *follower) bring(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errQuiet)
	defer cancel()
	for e, err := range f.g.o.Log.After(ctx, f.stream, f.at) {
		if err != nil {
			return err
		}
		f.begin()
		frame := e.Frame
		if f.stamps {
			var stamped bool
			f.buf, stamped = relay.AppendStamped(f.buf[:0], frame, f.stream, e.Position, f.hint.retry(frame, !f.first))
			f.hint.said(stamped)
			f.first = f.first || stamped
			frame = f.buf
		}
		if err := f.put(frame, e.Terminal || e.Offset >= f.newest); err != nil {
			return err
		}
		f.at = e.Position
	}
	return nil
}

// flushAt is how many bytes of the past are written before they are flushed.
const flushAt = 32 << 10

// put writes, with a deadline: a client that does not read loses its connection
// and may come back.
func (f *follower) put(p []byte, flush bool) error {
	if f.head.Write > 0 && moved(&f.limit, time.Now(), f.head.Write) {
		_ = f.rc.SetWriteDeadline(f.limit) // a writer without deadlines is one of tests
	}
	if _, err := f.w.Write(p); err != nil {
		return err
	}
	if f.wait += len(p); !flush && f.wait < flushAt {
		return nil
	}
	f.wait = 0
	if err := f.rc.Flush(); err != nil {
		return err
	}
	if f.http2 { // which resets a stream whose deadline passes, though nothing is being written
		f.limit = time.Time{}
		_ = f.rc.SetWriteDeadline(f.limit)
	}
	f.wrote = time.Now()
	return nil
}
