package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/stream"
)

// base is what is known of the attempt, for its records. t0 is the attempt's
// start; what came before (queue, holds, attempts that failed) is its lateness.
func (a *attempt) record() stream.Record {
	x, t := a.s.x, a.way()
	r := stream.Record{
		RequestID: x.id.request, Start: a.start.UTC(), Lateness: stream.Some(x.since(a.start)),
		InFlight: stream.Some(x.flight), Target: a.base.String() + x.path, Hop: x.g.hop(), Method: x.method,
		Streamed: x.ask.streamed, UsageAsked: x.ask.usage, Labels: map[string]string{"route": x.route.Path},
		Conn: "cold", Stamp: a.clock.stamp, StampWhy: a.clock.why,
		Phases: stream.Phases{DNS: t.dns, Connect: t.connect, TLS: t.tls, RequestWritten: t.written,
			Headers: t.head},
	}
	if t.reused {
		r.Conn = "warm"
		r.Phases.DNS, r.Phases.Connect, r.Phases.TLS = stream.None[time.Duration](), stream.None[time.Duration](), stream.None[time.Duration]()
	}
	a.phases(&r.Phases)
	r.Facts = a.facts()
	return r
}

// phases sets what the reads say, by the clock of the stream.
func (a *attempt) phases(p *stream.Phases) {
	kernel := a.clock.stamp == stream.StampKernel
	if kernel {
		p.Headers = stream.Some(a.clock.judge.Since(a.trip.HeadAt.Kernel))
	}
	if a.tap == nil {
		return
	}
	first, ok := a.tap.FirstRead()
	if !ok {
		return
	}
	p.FirstByte = stream.Some(first.App)
	if kernel {
		p.FirstByte = first.Kernel
	}
}

// facts are what the upstream said of itself.
func (a *attempt) facts() stream.Facts {
	x, t := a.s.x, a.way()
	f := stream.Facts{OurID: x.id.request, TraceParent: x.id.trace, Remote: t.remote, TLSVersion: t.tlsVersion}
	if a.resp == nil {
		return f
	}
	h := a.resp.Header
	f.HTTPVersion, f.Status = a.resp.Proto, a.resp.StatusCode
	f.ContentType, f.ContentEncoding = h.Get("Content-Type"), h.Get("Content-Encoding")
	f.TransferEncoding = strings.Join(a.resp.TransferEncoding, ",")
	f.Server, f.Via = h.Get("Server"), h.Get("Via")
	f.XAccelBuffering, f.CacheControl = h.Get("X-Accel-Buffering"), h.Get("Cache-Control")
	f.ServerTiming, f.RetryAfter = h.Get("Server-Timing"), h.Get("Retry-After")
	f.UpstreamID = upstreamID(h, x.id.request)
	if h.Get("X-Request-Id") == x.id.request {
		f.EchoedID = x.id.request
	}
	return f
}

// upstreamID is an id that the service made itself, also where a worker or
// another gateway tells it.
func upstreamID(h http.Header, ours string) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Goog-Request-Id", "X-Generation-Id", upstreamIDHeader} {
		if v := h.Get(name); v != "" && v != ours {
			return v
		}
	}
	return ""
}

// conclude tells what came of the request: to the observer, the log, the sink,
// and to whoever asks by its id. It runs once, when pump and writer are done.
func (s *session) conclude() {
	defer s.guard("record")
	x := s.x
	sum, records := s.summary(), s.allRecords()
	sum.count(s, records)
	if state, cause, ok := s.cancelled(); ok {
		sum.Saved = s.saved(records)
		x.g.see.Cancelled(x.route.Path, state, cause.Error(), sum.Saved)
	}
	ended := Ended{Route: x.route.Path, Upstream: x.route.upstream.name, Generated: sum.Generated,
		Delivered: sum.Delivered, Streamed: sum.Streamed, Terminal: s.terminal, Reason: s.reason}
	if len(records) > 0 {
		s.keepRecords(sum, records)
		ended.Records = append(ended.Records, records...)
		sum.take(records[0])
	}
	x.g.done.add(sum)
	x.g.see.Ended(ended)
	s.log(sum)
}

// keepRecords adds to the stream's records what only a gateway knows, and
// brings them where records are kept.
func (s *session) keepRecords(sum *summary, records []*stream.Record) {
	g := s.x.g
	number := int(g.recorded.Add(1) - 1)
	for _, r := range records {
		r.Index = number
		r.Notes = append(r.Notes, sum.Notes...)
		r.Facts.Extra = s.extra(sum)
		if g.o.Sink == nil {
			continue
		}
		if err := g.o.Sink.Put(context.Background(), r); err != nil {
			g.log.LogAttrs(context.Background(), slog.LevelError, "a record was not kept",
				slog.String("request_id", s.x.id.request), slog.String("error", err.Error()))
		}
	}
}

// log is the line of a request.
func (s *session) log(sum *summary) {
	x := s.x
	line := []slog.Attr{slog.String("request_id", x.id.request),
		slog.String("traceparent", x.id.trace), slog.String("upstream_id", sum.UpstreamID), slog.String("body_id", sum.BodyID),
		slog.String("method", x.method), slog.String("path", x.path), slog.String("upstream", x.route.upstream.name),
		slog.Int("status", s.status), slog.String("outcome", string(sum.Outcome)), slog.String("reason", sum.Reason),
		slog.Int("attempts", s.attempts), slog.Int64("bytes", sum.Delivered.Bytes), slog.Duration("took", time.Since(x.start))}
	x.g.log.LogAttrs(context.Background(), slog.LevelInfo, "request", append(line, x.id.said()...)...)
}

// allRecords are the stream's records, or one without events where no stream
// came to be.
func (s *session) allRecords() []*stream.Record {
	if len(s.records) > 0 || s.last == nil || !s.x.ask.streamed {
		return s.records
	}
	r := s.last.record()
	r.Choices, r.Outcome, r.Reason = 1, stream.ErrorEarly, s.reason
	r.End = stream.Some(time.Since(s.last.start))
	switch {
	case s.ctx.Err() != nil:
		r.Outcome = stream.Cancelled
	case s.reason == "" && s.generated.Bytes == 0: // an answer that passed plainly
		r.Outcome, r.Reason = stream.Truncated, "empty"
	case s.reason == "":
		r.Reason = "not_a_stream"
	}
	return []*stream.Record{&r}
}

func (s *session) summary() *summary {
	x := s.x
	sum := &summary{principal: x.id.principal, RequestID: x.id.request, GivenID: x.id.given, ClientID: x.id.client,
		TraceParent: x.id.trace, Start: x.start.UTC(),
		Route: x.route.Path, Upstream: x.route.upstream.name, Streamed: x.ask.streamed, Status: s.status, Attempts: s.attempts, Reason: s.reason, Terminal: s.terminal, Delivered: s.amounts(), Generated: s.generated,
		Notes: append(s.clock.notes(), s.notes...)}
	s.mu.Lock()
	sum.firstSent, sum.fail = s.firstSent, s.fail
	s.mu.Unlock()
	if s.live != nil {
		sum.StreamID = s.live.id
	}
	sum.Phases = phasesMs{Queue: ms(x.queue), Auth: ms(x.auth), Route: ms(x.routing),
		FirstOutput: ms(s.firstOut), Total: ms(stream.Some(time.Since(x.start)))}
	if a := s.last; a != nil {
		f, t := a.facts(), a.way()
		sum.Target, sum.UpstreamID = a.base.String()+x.path, f.UpstreamID
		sum.Phases.Connect, sum.Phases.Headers = ms(t.connect), ms(sinceStart(x, a, t.head))
		if x.g.edge != nil {
			s.mu.Lock()
			sum.Phases.Worker, sum.Phases.Connect, sum.Phases.Headers = ms(s.seen.worker), ms(s.seen.connect), ms(s.seen.headers)
			s.mu.Unlock()
		}
		if first, ok := s.firstOut.Get(); ok {
			sum.Phases.Relay = ms(stream.Some(time.Since(x.start) - first))
		}
	}
	return sum
}

// sinceStart brings a time since the attempt's start to one since the request's.
func sinceStart(x *exchange, a *attempt, d stream.Maybe[time.Duration]) stream.Maybe[time.Duration] {
	v, ok := d.Get()
	if !ok {
		return d
	}
	return stream.Some(x.since(a.start) + v)
}

// take adds what the stream's record says.
func (sum *summary) take(r *stream.Record) {
	sum.Dialect, sum.Model, sum.BodyID = r.Dialect, r.Model, r.Facts.BodyID
	sum.Outcome, sum.Proof, sum.Finish, sum.Usage = r.Outcome, r.Proof.String(), r.Finish, r.Usage
	if sum.Reason == "" {
		sum.Reason = r.Reason
	}
	sum.Extra = r.Facts.Extra
}

// extra is what only a gateway knows, for the record.
func (s *session) extra(sum *summary) map[string]string {
	m := map[string]string{
		"attempts":         strconv.Itoa(s.attempts),
		"events_generated": strconv.Itoa(sum.Generated.Events),
		"events_delivered": strconv.Itoa(sum.Delivered.Events),
		"bytes_delivered":  strconv.FormatInt(sum.Delivered.Bytes, 10),
	}
	for name, id := range map[string]string{"given_id": sum.GivenID, "client_request_id": sum.ClientID} {
		if id != "" {
			m[name] = id
		}
	}
	if d, ok := s.x.queue.Get(); ok {
		m["queue_ms"] = strconv.FormatFloat(millis(d), 'f', -1, 64)
	}
	for name, a := range map[string]Amount{"tokens_generated": sum.Generated, "tokens_delivered": sum.Delivered} {
		if n, ok := a.Tokens.Get(); ok {
			m[name], m[name+"_by"] = strconv.Itoa(n), a.Source
		}
	}
	if n, ok := sum.Saved.Get(); ok {
		m["tokens_saved_at_most"] = strconv.Itoa(n)
	}
	if first, ok := sum.firstSent.Get(); ok { // what a client's ttft is compared with
		m["first_sent_ms"] = strconv.FormatFloat(millis(first), 'f', -1, 64)
	}
	s.pace.tell(m)
	if s.terminal != "" {
		m["terminal_frame"] = s.terminal
	}
	return m
}

// serverTiming is the phases that are known when the headers leave.
func (s *session) serverTiming() string {
	x := s.x
	var b strings.Builder
	add := func(name string, d stream.Maybe[time.Duration]) {
		v, ok := d.Get()
		if !ok {
			return
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name + ";dur=" + strconv.FormatFloat(millis(v), 'f', -1, 64))
	}
	add("queue", x.queue)
	add("auth", x.auth)
	add("route", x.routing)
	s.mu.Lock()
	defer s.mu.Unlock()
	add("worker_queue", s.seen.worker)
	add("connect", s.seen.connect)
	add("upstream", s.seen.headers)
	if s.firstOut.Known() {
		add("first_output", s.firstOut)
	} else {
		add("first_output", s.seen.output)
	}
	return b.String()
}
