package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"

	"weir/stream"
)

// A panic on a goroutine ends the process, and every stream with it. Those that
// work for one stream or socket recover: a mistake of the gateway costs the one
// that met it, which ends with one error frame, reason internal, as far as what
// broke can still say it.

// errInternal is the cause of what ends because the gateway failed.
var errInternal = errors.New("internal")

// crashed logs and counts a panic. Of its value only what Go itself says is
// shown: any other may hold what a client or a service wrote.
func (g *Gateway) crashed(where, requestID string, p any) {
	what := fmt.Sprintf("a panic of a %T", p)
	if err, ok := p.(runtime.Error); ok {
		what = err.Error()
	}
	g.log.LogAttrs(context.Background(), slog.LevelError, "the gateway failed", slog.String("where", where),
		slog.String("request_id", requestID), slog.String("error", what), slog.String("stack", string(debug.Stack())))
	g.see.Panicked(where)
}

// guard is deferred on goroutines beside a session's pump and writer: the pump
// ends the session, in its own way.
func (s *session) guard(where string) {
	if p := recover(); p != nil {
		s.x.g.crashed(where, s.x.id.request, p)
		s.end(errInternal)
	}
}

// recovered is deferred by the pump: it ends the stream.
func (s *session) recovered() {
	p := recover()
	if p == nil {
		return
	}
	s.x.g.crashed("pump", s.x.id.request, p)
	s.notes = append(s.notes, "the gateway itself failed")
	s.more = false
	if a := s.last; a != nil && a.tap != nil && len(s.records) == 0 {
		try(func() { a.close(stream.Closing{How: stream.Broken, Reason: errInternal.Error()}) })
	}
	if s.closed {
		return // its client has its end
	}
	tell := func() { s.failed(causeFailure(errInternal)) }
	if try(tell) {
		return
	}
	try(s.closeKeeper) // one of the two may be what broke
	s.pace.drop()
	s.keep, s.pace = nil, nil
	try(tell)
}

// lastResort is deferred by the pump before everything else: it cuts an answer
// that has no other end.
func (s *session) lastResort() {
	if p := recover(); p != nil {
		s.x.g.crashed("pump", s.x.id.request, p)
		s.broken.Store(true)
	}
	s.open(&opening{status: http.StatusInternalServerError, header: http.Header{}}) // if it was not
}

// try runs what may fail again; false where it did.
func try(f func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	f()
	return
}

// isFailure reports whether a handler's goroutine failed. What only cuts its
// answer goes on to the server.
func isFailure(p any) bool {
	if p == http.ErrAbortHandler { //nolint:errorlint // it is a value of a panic
		panic(p)
	}
	return p != nil
}

// writerFailed is what a panic on the handler's goroutine comes to. The client is
// cut, since nobody knows what it has; a stream that others may follow goes on
// for them.
func (s *session) writerFailed(p any, w http.ResponseWriter, out *writer) {
	if !isFailure(p) {
		return
	}
	s.x.g.crashed("writer", s.x.id.request, p)
	if t, ok := w.(told); ok && (out == nil || !out.ended) {
		t.lost(errInternal)
	}
	s.lost(errInternal)
	panic(http.ErrAbortHandler)
}

// failed is what a panic comes to of whoever follows a stream.
func (f *follower) failed(p any) {
	if !isFailure(p) {
		return
	}
	f.g.crashed("follower", f.id.request, p)
	fail := causeFailure(errInternal)
	if !f.begun {
		refuseOwn(f.w, f.id, fail)
		return
	}
	try(func() { _ = f.put(f.lastFrame(fail), true) })
}
