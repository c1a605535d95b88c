package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/http1"
	"weir/stream"
	"weir/tap"
	"weir/wire"
)

// attempt is one request to one address, and its answer. What every event needs
// stands together, as in tap.Tap.
type attempt struct {
	s        *session
	body     body
	tap      *tap.Tap
	read     int // number of the tap's last read
	at       time.Time
	cut      cutter
	pend     []byte // an event whose end has not come
	piece    pieceFacts
	seq      int64 // the service's number of its last event
	output   bool  // the first output came
	opened   bool  // the client was answered with the stream
	sent     bool  // something of the stream was queued for the client
	whole    bool  // a finish reason was seen, or the terminal event
	terminal bool
	atEnd    bool // the body ended with the last read
	handed   bool // the body is the drain's to close
	last     bool
	looked   int // frames looked at for the dialect
	fault    *stream.Fault
	faultRaw []byte    // data of the event that stated it
	start    time.Time // t0 of its record
	clock    stamps
	voice    voice
	format   string

	base  URL
	ctx   context.Context
	stop  context.CancelCauseFunc
	trip  http1.Trip
	trace *trace // instead of trip, where net/http asks
	resp  *http.Response
	first http1.Arrived // what was read to find the framing
	head  *opening
}

// pieceFacts are what one piece of the stream held.
type pieceFacts struct {
	events, tokens int
	counted        int  // events that say how many tokens they hold
	text, more     bool // visible text; anything else
	progress       bool
	odd            bool // something that the dialect does not know
	any            bool // something that is neither odd nor a heartbeat
}

// attempt asks one address. nil: its answer is the client's, however it ended;
// otherwise nobody saw any of it, or the client is to be told in the stream.
func (s *session) attempt(base URL, last bool) *failure {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(s.ctx)) // a drain outlives the session
	unlink := context.AfterFunc(s.ctx, func() { stop(context.Cause(s.ctx)) })
	a := &attempt{s: s, base: base, last: last, ctx: ctx, stop: stop, start: http1.StartClock(), voice: s.x.voice}
	defer a.release(unlink)
	a.trip.T0 = a.start
	s.last = a
	s.clock.begin(stop, last)
	defer s.clock.pause()
	req, err := a.request()
	if err != nil {
		return fail("bad_request", http.StatusBadRequest, false)
	}
	if err := a.ask(req); err != nil {
		return a.broken(err)
	}
	s.clock.answered()
	t := a.way()
	s.mu.Lock()
	s.seen.connect, s.seen.headers = t.connect, sinceStart(s.x, a, t.head)
	s.mu.Unlock()
	return a.answer()
}

// release frees what an attempt holds, but for what its drain has taken over.
func (a *attempt) release(unlink func() bool) {
	unlink()
	if a.handed {
		return
	}
	if a.body != nil {
		_ = a.body.Close()
	}
	a.stop(nil)
}

// ask sends the request: over HTTP/1.1 of weir's own, or where the service
// speaks HTTP/2 over net/http's.
func (a *attempt) ask(req *http.Request) (err error) {
	up := a.s.x.route.upstream
	if up.direct != nil {
		a.resp, err = up.direct.Do(a.ctx, req, &a.trip) //nolint:bodyclose // closed with a.body
		if err == nil {
			a.clock = stamps{judge: http1.NewJudge(a.start), direct: a.resp.Body.(*http1.Body)}
			a.clock.judge.See(a.trip.HeadAt.App, a.trip.HeadAt.Kernel)
			a.body = a.clock.direct
		}
		if !errors.Is(err, http1.ErrHTTP2) {
			return err
		}
	}
	a.trace = &trace{}
	a.resp, err = up.transport.RoundTrip(req.WithContext(a.trace.with(a.ctx))) //nolint:bodyclose // closed with a.body
	if err == nil {
		a.trace.headers(time.Now())
		a.body = &plainBody{ReadCloser: a.resp.Body}
	}
	return err
}

// request builds the upstream's request from bytes, so that it can be sent
// again. The address is the configuration's; the caller chose only the path
// below it.
func (a *attempt) request() (*http.Request, error) {
	x := a.s.x
	u := *a.base.URL
	path, err := url.PathUnescape(x.path)
	if err != nil {
		return nil, err
	}
	u.Path, u.RawPath = a.base.Path+path, a.base.EscapedPath()+x.path
	u.RawQuery = x.query
	req, err := http.NewRequestWithContext(a.ctx, x.method, u.String(), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	if len(x.body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
	}
	req.Header = x.header.Clone()
	return req, nil
}

// answer decides what the upstream's headers begin.
func (a *attempt) answer() *failure {
	status := a.resp.StatusCode
	switch {
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return fail("upstream_redirect", http.StatusBadGateway, false)
	case status >= 400:
		return a.refused()
	case a.bodiless():
		return a.plain(nil)
	}
	first, err := a.sniff()
	if err != nil {
		return a.broken(err)
	}
	if a.format == "" || a.format == "body" {
		return a.plain(first)
	}
	if e := a.resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return fail("upstream_encoded", http.StatusBadGateway, false) // identity was asked for: its events cannot be seen
	}
	a.s.keepStream(a.format)
	return a.stream(first)
}

// sniff finds the framing: by the content type, or where a stream was asked
// for and the type does not tell, by the first bytes, which it returns.
func (a *attempt) sniff() ([]byte, error) {
	contentType := a.resp.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
	}
	gemini := a.voice.name == "gemini" && strings.Contains(a.s.x.path, ":streamGenerateContent")
	switch {
	case kind == "text/event-stream":
		a.format = "sse"
		return nil, nil
	case strings.Contains(kind, "ndjson"), strings.Contains(kind, "jsonl"):
		a.format = "ndjson"
		return nil, nil
	case gemini && kind == "application/json":
		a.format = "json-array"
		return nil, nil
	case !a.s.x.ask.streamed:
		return nil, nil
	}
	first, err := a.body.Next()
	if len(first.Data) == 0 && err != nil && err != io.EOF {
		return nil, err
	}
	if len(first.Data) == 0 && err == io.EOF && kind == "" {
		return nil, nil // it does not even say that it is something
	}
	a.format = wire.Sniff(contentType, first.Data)
	a.first = *first
	return bytes.Clone(first.Data), nil
}

// broken is the failure of an upstream that broke before it said anything.
func (a *attempt) broken(err error) *failure {
	f := roundTripFailure(a.ctx, err)
	a.tellBroken(f.reason, err)
	f.final = a.s.x.route.OnSilence == EndSilence && errors.Is(context.Cause(a.ctx), errSilence)
	return f
}

// tellBroken logs what exactly went wrong, for whoever runs the gateway: its
// client is told the reason alone. What a service said instead of a head stays
// out; it might be anything.
func (a *attempt) tellBroken(reason string, err error) {
	if a.ctx.Err() != nil {
		return
	}
	text := err.Error()
	if errors.Is(err, http1.ErrHeadForm) {
		text = http1.ErrHeadForm.Error()
	}
	a.s.x.g.log.LogAttrs(context.Background(), slog.LevelWarn, "upstream failed", slog.String("request_id", a.s.x.id.request),
		slog.String("upstream", a.s.x.route.upstream.name), slog.String("url", a.base.String()),
		slog.String("reason", reason), slog.String("error", text))
}
