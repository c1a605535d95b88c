package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"weir/relay"
)

// logWriter is the client of a worker's session: a stream of the relay log,
// opened when the answer's status is decided, with an entry for each event. It
// belongs to whoever owns the session's answer. Heartbeats are the edge's.
type logWriter struct {
	x      *exchange
	r      *run
	log    WorkerLog
	s      *session
	header http.Header
	keep   *logKeeper // nil until the answer began
	cut    cutter
	pend   []byte
	last   bool     // what comes ends the stream
	torn   bool     // the answer is cut
	crash  bool     // because this worker failed, before its end
	fail   *failure // why it is none
	err    error
}

func newLogWriter(x *exchange, r *run, log WorkerLog) *logWriter {
	return &logWriter{x: x, r: r, log: log, header: http.Header{}}
}

// serve runs the session. One whose client is lost ends with a panic, as of any
// handler.
func (w *logWriter) serve(s *session, req *http.Request) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is a value of a panic
			w.failed(p)
			s.end(errInternal)
		}
	}()
	s.serve(w, req)
}

// Header implements http.ResponseWriter.
func (w *logWriter) Header() http.Header { return w.header }

// WriteHeader opens the stream in the log.
func (w *logWriter) WriteHeader(status int) {
	if w.keep != nil || w.err != nil {
		return
	}
	h := w.x.head()
	h.Status, h.Header, h.Format = status, w.answerHeader(), formatBody
	if w.s != nil {
		h.Phases = w.s.known()
		if o := w.s.current(); o != nil && o.stream {
			h.Format = o.format
			if o.voice.known {
				h.Dialect = o.voice.name
			}
		} else if o != nil && o.refusal != nil {
			w.fail = o.refusal
		}
	}
	h.Refusal = w.fail.forHead()
	h.Private = !w.r.resumable || !canBeResumed(h.Format)
	p, err := relay.Position{}, errFenced
	if !w.r.fenced() {
		p, err = h.open(w.log, w.r.stream)
	}
	w.cut.format = h.Format
	w.keep = &logKeeper{log: w.log, stream: w.r.stream, at: p, head: h, principal: w.x.id.principal,
		unsaid: h.Dialect == "openai.responses" && w.r.resumable}
	if err != nil {
		w.broke(err)
	}
}

// answerHeader is what of the answer's header is not the edge's to say.
func (w *logWriter) answerHeader() http.Header {
	h := w.header.Clone()
	for key := range h {
		switch {
		case strings.HasPrefix(key, "Weir-"), key == "Connection", key == "X-Request-Id", key == traceResponse, key == "Server-Timing":
			delete(h, key)
		}
	}
	return h
}

// broke ends the session with what the log said.
func (w *logWriter) broke(err error) {
	w.err = err
	cause := errRelayDown
	if errors.Is(err, relay.ErrFenced) || errors.Is(err, relay.ErrExists) || errors.Is(err, errFenced) {
		cause = errFenced
	}
	w.r.stop(cause)
}

// mostChunk is the most of a body in one entry.
const mostChunk = 64 << 10

// Write appends whole events; what is none yet waits.
func (w *logWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	for rest := p; len(rest) > 0 && w.err == nil; {
		if w.r.fenced() {
			w.broke(errFenced)
			break
		}
		n := w.cut.next(rest)
		if w.cut.format == formatBody || w.cut.format == "json-array" {
			n = min(len(rest), mostChunk)
		}
		if n == 0 {
			w.pend = append(w.pend, rest...)
			break
		}
		event := rest[:n]
		rest = rest[n:]
		if len(w.pend) > 0 {
			event = append(w.pend, event...)
			w.pend = nil
		}
		if _, err := w.keep.Append(event, w.last && len(rest) == 0); err != nil {
			w.broke(err)
		}
	}
	return len(p), w.err
}

// ending says that the next write has the stream's last event, which is then
// the last of the log too: were that said in an entry of its own, a worker that
// died between the two would leave a whole answer that seems to be cut.
func (w *logWriter) ending() { w.last = true }

// Flush implements http.Flusher: an entry is there at once.
func (w *logWriter) Flush() {}

// began, beat, refused and lost implement told.
func (w *logWriter) began(s *session) {
	w.s = s
	w.r.began(s)
}

func (w *logWriter) beat() error        { return nil }
func (w *logWriter) refused(f *failure) { w.fail = f }
func (w *logWriter) lost(cause error)   { w.torn, w.crash = true, errors.Is(cause, errInternal) }

// failed is what a panic is to the stream in the log: whoever waits for it must
// not wait on.
func (w *logWriter) failed(p any) {
	w.x.g.crashed("worker", w.x.id.request, p)
	w.torn, w.crash = true, true
}

// guard is deferred by what works for the stream.
func (w *logWriter) guard() {
	if p := recover(); p != nil {
		w.failed(p)
	}
}

// finish ends the stream in the log.
func (w *logWriter) finish() {
	defer w.guard()
	if w.r.fenced() {
		w.log.Forget(w.r.stream)
		return
	}
	if w.keep == nil {
		cause := errWorkerLost
		if w.crash {
			cause = errInternal
		}
		w.header, w.torn = http.Header{}, false
		w.x.refuse(w, causeFailure(cause)) // a session always answers; but whoever waits must not wait on
	}
	if w.s != nil {
		<-w.s.pumped
	}
	if w.keep.ended {
		w.keep.closeAnswer()
		return
	}
	if len(w.pend) > 0 && w.err == nil {
		_ = w.keep.add(bytes.Clone(w.pend), false)
	}
	var last []byte
	switch {
	case !w.torn:
	case w.keep.head.Format == formatBody:
		last = []byte(cutMark)
	case w.s != nil && (w.s.terminal == "" || w.crash):
		cause := context.Cause(w.s.ctx)
		if w.crash {
			cause = errInternal
		} else if cause == nil || errors.Is(cause, context.Canceled) {
			cause = errWorkerLost
		}
		f := causeFailure(cause)
		f.requestID = w.x.id.request
		last = w.keep.head.voice().terminal(w.keep.head.Format, f, w.keep.at.Offset+1, true)
	}
	_ = w.keep.add(last, true) // a log that failed has its own end
	w.keep.closeAnswer()
}

func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}
