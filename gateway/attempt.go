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
	"strconv"
	"strings"
	"time"

	"weir/dialect"
	"weir/http1"
	"weir/stream"
	"weir/tap"
	"weir/wire"
)

// attempt is one request to one address, and its answer.
type attempt struct {
	s     *session
	base  URL
	last  bool
	ctx   context.Context
	stop  context.CancelCauseFunc
	start time.Time // t0 of its record
	trip  http1.Trip
	trace *trace // instead of trip, where net/http asks
	resp  *http.Response
	body  body
	first http1.Arrived // what was read to find the framing
	clock stamps

	head   *opening
	format string
	voice  voice
	tap    *tap.Tap
	cut    cutter
	pend   []byte // an event whose end has not come
	read   int    // number of the tap's last read
	at     time.Time
	looked int // frames looked at for the dialect

	piece    pieceFacts
	seq      int64 // the service's number of its last event
	output   bool  // the first output came
	opened   bool  // the client was answered with the stream
	sent     bool  // something of the stream was queued for the client
	whole    bool  // a finish reason was seen, or the terminal event
	terminal bool
	fault    *stream.Fault
	faultRaw []byte // data of the event that stated it
}

// pieceFacts are what one piece of the stream held.
type pieceFacts struct {
	events, tokens int
	text, more     bool // visible text; anything else
	counted        bool
	progress       bool
	odd            bool // something that the dialect does not know
	any            bool // something that is neither odd nor a heartbeat
}

// attempt asks one address. nil: its answer is the client's, however it ended;
// otherwise nobody saw any of it, or the client is to be told in the stream.
func (s *session) attempt(base URL, last bool) *failure {
	ctx, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	a := &attempt{s: s, base: base, last: last, ctx: ctx, stop: stop, start: http1.StartClock(), voice: s.x.voice}
	a.trip.T0 = a.start
	s.last = a
	if s.x.ask.streamed {
		s.clock.begin(stop, last)
		defer s.clock.pause()
	}
	req, err := a.request()
	if err != nil {
		return fail("bad_request", http.StatusBadRequest, false)
	}
	if err := a.ask(req); err != nil {
		return a.broken(err)
	}
	defer func() { _ = a.body.Close() }()
	t := a.way()
	s.mu.Lock()
	s.seen.connect, s.seen.headers = t.connect, sinceStart(s.x, a, t.head)
	s.mu.Unlock()
	return a.answer()
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

// maxRefusal bounds an error's body that is kept for the client.
const maxRefusal = 1 << 20

// refused is an HTTP error: another attempt, or the client's answer.
func (a *attempt) refused() *failure {
	resp := a.resp
	body, err := io.ReadAll(io.LimitReader(a.body, maxRefusal))
	if err != nil {
		body = nil
	}
	f := &failure{reason: "http_" + strconv.Itoa(resp.StatusCode), text: texts["upstream_error"], status: resp.StatusCode,
		retryable: worthRetry(resp.StatusCode), after: retryAfter(resp.Header, time.Now()), body: body}
	h := http.Header{}
	copyResponseHeader(h, resp.Header, false)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	f.answer = &opening{status: resp.StatusCode, header: h}
	return f
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
	a.format = wire.Sniff(contentType, first.Data)
	a.first = first
	return bytes.Clone(first.Data), nil
}

// plain passes an answer on that is no stream.
func (a *attempt) plain(first []byte) *failure {
	s, resp := a.s, a.resp
	if f := a.falseSuccess(&first); f != nil {
		return f
	}
	h := http.Header{}
	copyResponseHeader(h, resp.Header, false)
	o := &opening{status: resp.StatusCode, header: h}
	s.status = resp.StatusCode
	if !s.open(o) {
		return fail("not_a_stream", http.StatusBadGateway, false)
	}
	if len(first) > 0 {
		s.bytes(first)
	}
	for {
		got, err := a.body.Next()
		if len(got.Data) > 0 {
			s.bytes(got.Data)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			s.reason = a.broken(err).reason
			s.broken.Store(true)
			return nil
		}
	}
}

// falseSuccess finds an error that a service sends with status 200 where a
// stream was asked for: the client gets the status it deserves.
func (a *attempt) falseSuccess(first *[]byte) *failure {
	if !a.s.x.ask.streamed || !bytes.HasPrefix(bytes.TrimSpace(*first), []byte("{")) {
		return nil
	}
	rest, err := io.ReadAll(io.LimitReader(a.body, maxRefusal))
	*first = append(*first, rest...)
	if err != nil {
		return a.broken(err)
	}
	var fault *stream.Fault
	d := a.s.x.dialect
	if d == nil {
		d, _ = dialect.Detect(dialect.Hint{Path: a.s.x.path})
	}
	c := d.NewClassifier()
	_ = c.Classify(wire.Frame{Kind: wire.Body, Data: *first, Raw: *first}, func(e *stream.Event) {
		if e.Kind == stream.KindError {
			fault = e.Fault
		}
	})
	if fault == nil {
		return nil
	}
	return a.stated(fault, *first)
}

// stated is the failure of an error that the service stated with status 200.
func (a *attempt) stated(fault *stream.Fault, data []byte) *failure {
	status := codeStatus(fault.Code)
	f := &failure{reason: "in_band", text: texts["upstream_error"], status: status, retryable: worthRetry(status)}
	if data = a.s.x.voice.stated(fault, bytes.TrimSpace(data)); bytes.HasPrefix(data, []byte("{")) {
		f.body = append(bytes.Clone(data), '\n')
		f.answer = &opening{status: status, header: http.Header{"Content-Type": {"application/json"},
			"Cache-Control": {"no-store"}, "Content-Length": {strconv.Itoa(len(f.body))}}}
	}
	return f
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

// bytes queues what is no event.
func (s *session) bytes(p []byte) {
	s.generated.Bytes += int64(len(p))
	for !s.q.put(load{bytes: p, read: time.Time{}}) {
		select {
		case <-s.q.room:
		case <-s.ctx.Done():
			return
		}
	}
}
