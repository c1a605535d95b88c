package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"weir/relay"
	"weir/stream"
	"weir/wire"
	"weir/ws"
)

// turnWriter is the ResponseWriter of one stream on a socket: what a client of
// HTTP would read becomes messages. It is used by one goroutine at a time, as
// any ResponseWriter.
type turnWriter struct {
	s       *socket
	t       *turn
	n       int // turn
	header  http.Header
	follows bool // a resume

	session   *session // nil: it never got its place, or it is a resume
	status    int
	requestID string
	stream    string // the gateway's id
	plain     bool   // no stream
	opened    bool   // the client was told that the answer began
	decoder   wire.Decoder
	format    string
	seq       int64 // of the last event
	lastID    []byte
	sent      int64 // event messages
	saysError bool  // the last event does
	rest      []byte
	buf       []byte
	err       error

	mu    sync.Mutex
	fail  *failure
	cause error // why the answer was cut
}

// Header implements http.ResponseWriter.
func (w *turnWriter) Header() http.Header { return w.header }

// SetWriteDeadline is for http.ResponseController: the socket's writes have
// their own time.
func (w *turnWriter) SetWriteDeadline(time.Time) error { return nil }

// FlushError is for http.ResponseController: every message is flushed.
func (w *turnWriter) FlushError() error { return w.err }

// began, beat, refused and lost implement told.
func (w *turnWriter) began(s *session) {
	w.session = s
	w.t.mu.Lock()
	w.t.session = s
	stopped := w.t.stopped
	w.t.mu.Unlock()
	if stopped {
		s.end(errStopped)
	}
}

func (w *turnWriter) beat() error { return w.message(ws.Heartbeat{ID: w.t.id}) }

func (w *turnWriter) refused(f *failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = f
}

func (w *turnWriter) lost(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cause = cause
}

func (w *turnWriter) failed() *failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fail
}

func (w *turnWriter) message(m any) error {
	if w.err == nil {
		w.err = w.s.send(m)
	}
	return w.err
}

// WriteHeader begins the answer. A refusal has none: its end says all.
func (w *turnWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	h := w.header
	w.requestID, w.stream = h.Get("X-Request-Id"), h.Get("Weir-Stream")
	if w.failed() != nil {
		return
	}
	contentType := h.Get("Content-Type")
	w.format = wire.Sniff(contentType, nil)
	w.plain = w.stream == "" && w.format != "sse" && w.format != "ndjson" || contentType == ""
	o := ws.Open{ID: w.t.id, Turn: w.n, Status: status, ContentType: contentType, Stream: w.stream,
		Resumable: h.Get("Weir-Resumable") == "true", RequestID: w.requestID, UpstreamID: h.Get(upstreamIDHeader),
		ServerTiming: h.Get("Server-Timing"), RetryAfterMs: retryAfter(h, time.Now()).Milliseconds()}
	w.t.mu.Lock()
	if w.stream != "" {
		w.t.stream = w.stream
	}
	w.t.mu.Unlock()
	if w.session != nil {
		o.TraceParent = w.session.x.id.trace
	}
	w.opened = true
	_ = w.message(o) // the next write says it
}

// Write implements http.ResponseWriter.
func (w *turnWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.failed() != nil && !w.opened: // a refusal: its end says all
		return len(p), nil
	case w.plain:
		w.piece(p)
	default:
		w.feed(p)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// piece sends some of an answer that is no stream, whole characters at a time.
func (w *turnWriter) piece(p []byte) {
	p = append(w.rest, p...)
	w.rest = nil
	cut := len(p)
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if utf8.RuneStart(p[len(p)-back]) {
			if !utf8.FullRune(p[len(p)-back:]) {
				cut = len(p) - back
			}
			break
		}
	}
	w.rest = bytes.Clone(p[cut:])
	w.pieceOf(p[:cut])
}

func (w *turnWriter) pieceOf(p []byte) {
	if len(p) == 0 {
		return
	}
	_ = w.message(ws.BodyOf(w.t.id, p)) // kept in err
}

// feed sends the events of some of a stream.
func (w *turnWriter) feed(p []byte) {
	if w.decoder == nil {
		format := w.format
		if format == "body" || strings.HasPrefix(w.header.Get("Content-Type"), "application/json") {
			format = wire.Sniff(w.header.Get("Content-Type"), p) // the gateway looked, and it was a stream
		}
		if w.decoder, w.err = wire.New(format, wire.Options{FrameLimit: int(w.s.g.c.Limits.Event) + 1<<10}); w.err != nil {
			return
		}
	}
	if err := w.decoder.Feed(p, w.frame); err != nil && w.err == nil {
		w.err = err
	}
}

// frame sends one frame of a stream.
func (w *turnWriter) frame(f wire.Frame) {
	if w.err != nil {
		return
	}
	partial := false
	switch f.Kind {
	case wire.Event, wire.DataLess:
	case wire.Comment:
		if len(f.Data) > 0 {
			_ = w.message(ws.Heartbeat{ID: w.t.id, Text: wire.Text(f.Data)}) // kept in err
		}
		return
	case wire.Unterminated, wire.Body:
		if len(f.Data) == 0 {
			return
		}
		partial = true
	default:
		return
	}
	id := w.number(f.ID)
	e := ws.EventBytes{ID: w.t.id, Seq: w.seq, Event: f.Event, EventID: id, Data: f.Data, Partial: partial}
	if f.Kind == wire.DataLess {
		e.Data = nil
	} else if e.Data == nil {
		e.Data = []byte{}
	}
	w.saysError = w.follows && bytes.Contains(f.Data, []byte(`"error"`)) && saysError(f)
	w.buf = ws.AppendEvent(w.buf[:0], e)
	w.sent++
	w.err = w.s.write(w.buf)
	if cap(w.buf) > keepSpare {
		w.buf = nil
	}
}

// number gives an event its place in the stream: the gateway's own, where it
// wrote one, else the next. id is what the event has for an id.
func (w *turnWriter) number(id []byte) []byte {
	if len(id) == 0 || bytes.Equal(id, w.lastID) {
		w.seq++
		return nil
	}
	w.lastID = append(w.lastID[:0], id...)
	if of, p, err := relay.ParseID(string(id)); err == nil && of == w.stream {
		w.seq = p.Offset
	} else {
		w.seq++
	}
	return id
}

// saysError reports whether an event states an error, in any dialect.
func saysError(f wire.Frame) bool {
	var says struct {
		Type, Event string
		Error       json.RawMessage
	}
	if string(f.Event) == "error" {
		return true
	}
	_ = json.Unmarshal(f.Data, &says) // what cannot be read states nothing
	return says.Type == "error" || says.Event == "error" || len(says.Error) > 0 && string(says.Error) != "null"
}

// finish sends what was held back, when the answer has ended of itself.
func (w *turnWriter) finish() {
	if w.failed() == nil {
		w.WriteHeader(http.StatusOK)
	}
	w.pieceOf(w.rest)
	if w.decoder != nil && w.err == nil {
		_ = w.decoder.Close(w.frame) // what it cannot say is no event
	}
}

// end is the last message of the stream.
func (w *turnWriter) end(broke bool) ws.End {
	e := ws.End{ID: w.t.id, Turn: w.n, Outcome: "done", Code: ws.Normal, Status: w.status, Events: w.sent, RequestID: w.requestID}
	sum := w.summary()
	if sum != nil {
		e.Reason = sum.Reason
		e.Phases, e.Usage = sum.Phases.message(), usageMessage(sum.Usage)
	}
	w.judge(&e, sum, broke)
	e.Reconnect = e.Code.MayReconnect()
	return e
}

// message is the phases as the end of a stream has them.
func (p *phasesMs) message() *ws.Phases {
	return &ws.Phases{Queue: pointer(p.Queue), Auth: pointer(p.Auth), Route: pointer(p.Route), Worker: pointer(p.Worker),
		Connect: pointer(p.Connect), Headers: pointer(p.Headers), FirstOutput: pointer(p.FirstOutput),
		Relay: pointer(p.Relay), Total: pointer(p.Total)}
}

// usageMessage is the same of a usage.
func usageMessage(u *stream.Usage) *ws.Usage {
	if u == nil {
		return nil
	}
	return &ws.Usage{Input: pointer(u.Input), Cached: pointer(u.Cached), Output: pointer(u.Output),
		Reasoning: pointer(u.Reasoning), Billed: pointer(u.Billed), Seed: u.Seed}
}

func pointer[T any](m stream.Maybe[T]) *T {
	v, ok := m.Get()
	if !ok {
		return nil
	}
	return &v
}

// judge says how the stream ended.
func (w *turnWriter) judge(e *ws.End, sum *summary, broke bool) {
	w.t.mu.Lock()
	stopped, left := w.t.stopped, w.t.left
	w.t.mu.Unlock()
	w.mu.Lock()
	fail, cause := w.fail, w.cause
	w.mu.Unlock()
	switch {
	case sum != nil && sum.Terminal == "done" && !broke:
		e.Reason = ""
	case stopped:
		e.Outcome, e.Code, e.Reason, e.Message = "cancelled", ws.Stopped, "stopped", texts["stopped"]
	case left:
		e.Outcome, e.Reason = "left", "left"
	case fail != nil:
		e.Outcome, e.Reason, e.Status = "error", fail.reason, fail.status
		tellFailure(e, fail)
	case errors.Is(cause, errSlowClient):
		e.Outcome, e.Code, e.Reason, e.Message = "broken", ws.Slow, "slow_client", texts["slow_client"]
	case broke:
		e.Outcome, e.Code = "broken", ws.Broken
		if e.Reason == "" {
			e.Reason = "broken"
		}
		if sum != nil && sum.fail != nil {
			tellFailure(e, sum.fail)
		}
	case sum != nil && sum.fail != nil:
		e.Outcome = "error"
		tellFailure(e, sum.fail)
	case sum != nil && sum.Terminal == "error", w.status >= 400:
		e.Outcome = "error"
		if e.Reason == "" {
			e.Reason = "in_band"
		}
		e.Code, e.Message = codeOf(e.Reason, w.status), texts[e.Reason]
	case w.saysError:
		e.Outcome, e.Code, e.Reason = "error", ws.Broken, "in_band"
	}
}

// summary is what came of the request, where it is known.
func (w *turnWriter) summary() *summary {
	if w.session == nil {
		return nil
	}
	sum := w.s.g.done.find(w.requestID, w.session.x.id.principal)
	if sum == nil || w.stream != "" && sum.StreamID != w.stream {
		return nil
	}
	return sum
}

// tellFailure says of a failure what its client may do. Where the same would be
// refused again, no code may say that it might not.
func tellFailure(e *ws.End, f *failure) {
	e.Code, e.Message, e.RetryAfterMs = codeOf(f.reason, f.status), f.text, f.after.Milliseconds()
	if !f.retryable && e.Code != ws.Slow && e.Code.MayReconnect() {
		e.Code = ws.Refused
	}
}

// codeOf is the close code of a failure.
func codeOf(reason string, status int) ws.Code {
	switch reason {
	case "shutdown", "draining":
		return ws.Drain
	case "silence", "first_output", "too_slow", "not_begun", "upstream_timeout":
		return ws.Stalled
	case "not_found":
		return ws.Unresumable
	case "unauthorized":
		return ws.Unauth
	case "stopped", "abandoned":
		return ws.Stopped
	case "slow_client":
		return ws.Slow
	case reasonGap:
		return ws.Gap
	case "too_many_readers":
		return ws.Capacity
	case "in_band":
		return ws.Broken
	}
	switch {
	case strings.HasPrefix(reason, "overloaded_"), status == http.StatusTooManyRequests:
		return ws.Capacity
	case strings.HasPrefix(reason, "upstream_"), status >= 500:
		return ws.Broken
	}
	return ws.Refused
}
