package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"weir/dialect"
	"weir/http1"
	"weir/stream"
	"weir/tap"
	"weir/wire"
)

// maxHeld is the most that frames before the first output may hold back.
const maxHeld = 64 << 10

// How long an upstream may take to end after its answer is whole.
const (
	afterTerminal = time.Second     // of a protocol where something may follow the terminal event
	afterFinish   = 5 * time.Second // usage and a sentinel may follow a finish reason
	afterEnd      = 5 * time.Second // nobody waits: the connection may be used again
)

// stream passes a stream on.
func (a *attempt) stream(first []byte) *failure {
	a.prepare()
	s := a.s
	s.clock.streams()
	if s.x.route.early {
		a.open()
	}
	got, err := &a.first, error(nil)
	got.Data = first
	for {
		if len(got.Data) > 0 {
			a.stamp(got)
			a.atEnd = err != nil
			if done, f := a.feed(got.Data); done {
				return f
			}
		}
		if err != nil {
			return a.over(err)
		}
		got, err = a.body.Next()
	}
}

// prepare readies the tap and what the client will be answered.
func (a *attempt) prepare() {
	s, x := a.s, a.s.x
	h := http.Header{}
	copyResponseHeader(h, a.resp.Header, true)
	contentType := a.resp.Header.Get("Content-Type")
	if contentType == "" {
		contentType = x.voice.contentType()
	}
	streamHeader(h, contentType)
	a.head = &opening{status: a.resp.StatusCode, header: h, stream: true, format: a.format, voice: a.voice}
	a.cut.format = a.format
	a.tap = tap.New(tap.Options{
		Dialect:    x.route.dialect,
		Hint:       dialect.Hint{Method: x.method, Path: x.path, Query: x.query, ContentType: contentType},
		Format:     a.format,
		FrameLimit: int(x.g.c.Limits.Event),
		OnEvent:    a.onEvent,
		OnFrame:    a.onFrame,
	})
	s.mu.Lock()
	s.head = a.head
	s.mu.Unlock()
}

// feed takes what one read brought, event by event. done ends the attempt.
func (a *attempt) feed(p []byte) (done bool, f *failure) {
	defer a.s.part()
	for len(p) > 0 {
		n := a.cut.next(p)
		part := p
		if n > 0 {
			part = p[:n]
		}
		if n > 0 && a.ownMeta(part) {
			a.s.send(part, &load{clean: true})
			p = p[n:]
			continue
		}
		a.piece = pieceFacts{}
		if err := a.tap.Feed(part, a.read); err != nil {
			return true, a.overLimit(err)
		}
		if n == 0 {
			a.pend = append(a.pend, part...)
			return false, nil
		}
		p = p[n:]
		if len(a.pend) > 0 {
			part = append(a.pend, part...)
			a.pend = nil
		}
		a.s.more = len(p) > 0 && a.s.meter == nil // which waits between them
		done, f := a.event(part)
		if a.s.more = false; done {
			return true, f
		}
	}
	return false, nil
}

// stamp registers a read.
func (a *attempt) stamp(got *http1.Arrived) {
	a.at = got.App
	a.read = a.tap.Read(a.clock.see(got, a.start))
}

// event passes one whole event on, or keeps it back.
func (a *attempt) event(raw []byte) (done bool, f *failure) {
	s := a.s
	if a.fault != nil && (a.unheard() || a.alone(raw)) {
		f := a.stated(a.fault, a.faultRaw)
		a.close(stream.Closing{How: stream.CleanEOF})
		return true, f
	}
	if a.mixed() {
		a.close(stream.Closing{How: stream.Broken, Reason: "other_framing"})
		return true, fail("other_framing", http.StatusBadGateway, false)
	}
	if a.piece.progress {
		s.clock.moved(a.at, a.piece.events > 0, max(a.piece.tokens, a.piece.events))
	}
	if a.piece.events > 0 && !a.output {
		a.firstOutput()
	}
	s.count(a.piece, len(raw))
	end := a.terminal && a.voice.endsThere()
	if a.terminal && s.terminal == "" {
		s.terminal = "done"
	}
	s.send(raw, &load{events: a.piece.events, tokens: a.piece.tokens, read: a.at, clean: a.cut.clean(), terminal: end,
		text: a.piece.text && !a.piece.more})
	a.sent = true
	unknown := a.piece.odd && !a.voice.known // what nobody understands is not held back
	if a.output || a.whole || unknown || s.q.size() > maxHeld {
		a.open()
	}
	if end {
		a.close(stream.Closing{How: stream.CleanEOF})
		a.drain()
		return true, nil
	}
	return false, nil
}

// unheard reports whether the service's own event of an error could not be
// heard: nothing was sent, so that it is HTTP's to tell, or the client was
// answered, before the service spoke, in another framing.
func (a *attempt) unheard() bool {
	o := a.s.current()
	return !a.output && (o == nil || o.format != a.format)
}

// alone reports whether the error is an object where the client was told of an
// array.
func (a *attempt) alone(raw []byte) bool {
	return a.format == "json-array" && !a.sent && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}

// mixed reports whether the service answers in another framing than the client
// was told before it did. Nothing is translated: its events cannot be sent.
func (a *attempt) mixed() bool {
	if a.sent || a.read == 0 {
		return false
	}
	o := a.s.current()
	return o != nil && o.stream && o.format != a.format
}

// firstOutput notes the moment, and tells it where the route says so.
func (a *attempt) firstOutput() {
	s, x := a.s, a.s.x
	a.output = true
	s.mu.Lock()
	s.firstOut = stream.Some(x.since(a.at))
	s.mu.Unlock()
	if !x.route.MetaEvent {
		return
	}
	meta := a.voice.meta(a.format, map[string]any{
		"request_id": x.id.request,
		"prepare_ms": ms(total(x.auth, x.routing)),
		"queue_ms":   ms(x.waited()),
		"ttft_ms":    ms(x.sinceAsked(stream.Some(x.since(a.at)))),
	})
	if meta != nil {
		s.send(meta, &load{clean: true})
	}
}

// ownMeta reports whether an event at an edge is the one that its worker added:
// it is the gateway's, not the service's. By the service's it could be of a
// dialect that has such an event, which the stream is not.
func (a *attempt) ownMeta(event []byte) bool {
	return !a.output && a.s.x.g.edge != nil && bytes.HasPrefix(event, []byte("event: meta\n")) &&
		bytes.Contains(event, []byte(`"request_id":"`+a.s.x.id.request+`"`))
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// open answers the client with the stream, in the voice as it is known by now.
// What was handed out before is another's to read: it is not changed.
func (a *attempt) open() {
	if a.opened {
		return
	}
	a.opened = true
	a.s.part() // what gathers belongs to what is held: they leave together
	o := *a.head
	o.voice = a.voice
	if a.s.open(&o) {
		by := "output"
		if a.s.x.route.early {
			by = "early"
		}
		a.s.x.g.see.Opened(a.s.x.route.Path, by)
		a.s.status = o.status
	}
}

// count adds what the upstream generated.
func (s *session) count(p pieceFacts, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generated.Events += p.events
	s.generated.Bytes += int64(n)
	s.genTokens += p.tokens
	s.uncounted += p.events - p.counted
	s.counted = s.counted || p.counted > 0
}

// onFrame looks at the first frames for the dialect, where the path did not
// tell it, and keeps an error's data.
func (a *attempt) onFrame(f wire.Frame) {
	if f.Kind == wire.Comment || f.Kind == wire.DataLess {
		return
	}
	a.faultRaw = f.Data // valid until the feed returns, which is when it is used
	if a.voice.known || a.looked > 20 {
		return
	}
	a.looked++
	h := dialect.Hint{First: f.Data, Event: string(f.Event)}
	if dialect.Decides(h) {
		d, _ := dialect.Detect(h)
		a.voice = voiceOf(d)
	}
	a.piece.odd = true
}

// onEvent notes what an event means for the relay.
func (a *attempt) onEvent(e *stream.Event) {
	p := &a.piece
	p.text, p.more = p.text || e.Kind == stream.KindText, p.more || e.Kind != stream.KindText
	if n, ok := e.ServiceSeq.Get(); ok {
		a.seq = n
	}
	if e.Kind.Business() {
		p.events++
		if n, ok := e.Tokens.Get(); ok {
			p.tokens += n
			p.counted++
		}
	}
	switch e.Kind {
	case stream.KindOther:
		p.odd = true
		return
	case stream.KindHeartbeat, stream.KindConnect:
		return
	case stream.KindError:
		if e.Fault != nil && !e.Fault.Recoverable && a.fault == nil {
			fault := *e.Fault
			a.fault, a.faultRaw = &fault, bytes.Clone(a.faultRaw)
			a.s.clock.finishBy(time.Now().Add(afterTerminal))
		}
	case stream.KindDone:
		a.done(e)
	}
	p.progress, p.any = true, true
}

func (a *attempt) done(e *stream.Event) {
	switch e.Proof {
	case stream.ProofSentinel, stream.ProofTerminal:
		if !a.terminal {
			a.terminal = true
			a.s.clock.finishBy(time.Now().Add(afterTerminal))
		}
		a.whole = true
	case stream.ProofFinish:
		if a.tap.Ended() && !a.whole {
			a.whole = true
			a.s.clock.finishBy(time.Now().Add(afterFinish))
		}
	}
}

// overLimit ends a stream that weir cannot read on.
func (a *attempt) overLimit(err error) *failure {
	reason := "upstream_malformed"
	if errors.Is(err, wire.ErrFrameTooLarge) || errors.Is(err, tap.ErrTooManyEvents) {
		reason = "event_too_large"
	}
	a.close(stream.Closing{How: stream.Broken, Reason: reason})
	return a.endWith(fail(reason, http.StatusBadGateway, false))
}

// over ends a stream whose body ended.
func (a *attempt) over(err error) *failure {
	cause := context.Cause(a.ctx)
	clean := errors.Is(err, io.EOF) || errors.Is(cause, errFinished)
	a.piece = pieceFacts{}
	c := a.closing(clean, cause)
	a.close(c)
	a.tail(clean)
	complete := len(a.s.records) > 0 && a.s.records[0].Outcome.Ended()
	switch {
	case a.fault != nil && a.unheard():
		return a.stated(a.fault, a.faultRaw)
	case a.mixed():
		return fail("other_framing", http.StatusBadGateway, false)
	case a.terminal || a.fault != nil:
		if a.fault != nil {
			a.s.terminal = "error"
		}
		a.open()
		return nil
	case a.whole || clean && complete || a.tap.Ended():
		a.complete()
		return nil
	case clean && !a.voice.known:
		a.open() // of a protocol nobody knows, the end of the body is the end
		return nil
	case clean:
		return a.endWith(fail("upstream_truncated", http.StatusBadGateway, true))
	case cause != nil || http1.IsFraming(err):
		return a.endWith(a.broken(err))
	}
	a.tellBroken("upstream_reset", err)
	return a.endWith(fail("upstream_reset", http.StatusBadGateway, true))
}

// closing is how the carrier ended.
func (a *attempt) closing(clean bool, cause error) stream.Closing {
	c := stream.Closing{At: time.Since(a.start), How: stream.Broken}
	switch {
	case clean:
		c.How = stream.CleanEOF
	case errors.Is(cause, errSilence), errors.Is(cause, errFirstOutput), errors.Is(cause, errTooSlow):
		c.How, c.Reason = stream.OurDeadline, cause.Error()
	case cause != nil:
		c.How, c.Reason = stream.UserStop, cause.Error()
	}
	return c
}

// close ends the tap; what its decoder still held comes out of it.
func (a *attempt) close(c stream.Closing) {
	if c.At == 0 {
		c.At = time.Since(a.start)
	}
	a.clock.settle()
	a.s.settle(a, c)
}

// tail passes on an event whose end never came, if it could be read: a torn
// piece is of no use to anyone, except where nobody knows the protocol.
func (a *attempt) tail(clean bool) {
	end := "\n"
	switch {
	case len(a.pend) == 0:
		return
	case clean && !a.voice.known:
		end = ""
	case !a.piece.any:
		return
	case a.format == "sse":
		end = "\n\n"
	}
	raw := append(a.pend, end...)
	a.pend = nil
	if a.fault != nil && a.unheard() || a.mixed() {
		return
	}
	if a.piece.events > 0 && !a.output {
		a.firstOutput()
	}
	a.s.count(a.piece, len(raw))
	a.s.send(raw, &load{events: a.piece.events, tokens: a.piece.tokens, read: a.at, clean: true})
	a.sent = true
	if a.terminal {
		a.s.terminal = "done"
	}
}

// complete ends an answer that is whole but did not say so in its last event.
func (a *attempt) complete() {
	a.s.terminal = "done"
	if end := a.voice.done(a.format); end != nil {
		a.s.send(end, &load{clean: true, terminal: true})
	}
	a.open()
}

// endWith ends the stream with an error: in its own dialect where the client
// has seen something of it, else as the attempt's failure.
func (a *attempt) endWith(f *failure) *failure {
	if !a.output {
		return f
	}
	a.open()
	if a.s.ctx.Err() != nil {
		f = causeFailure(context.Cause(a.s.ctx))
	}
	a.s.terminate(f)
	return nil
}

// drain reads what follows the last event, so that the connection can be used
// again, while the client's answer ends. A worker's end comes with its last
// event; it is waited for, since the letter goes on to be its session's.
func (a *attempt) drain() {
	if a.atEnd {
		return
	}
	if l, ok := a.body.(*letter); ok {
		defer time.AfterFunc(afterEnd, func() { a.stop(errFinished) }).Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(l, 64<<10))
		return
	}
	a.handed = true
	g := a.s.x.g
	g.drains.Add(1)
	g.running.Go(func() {
		defer a.s.guard("drain")
		defer g.drains.Add(-1)
		defer a.stop(nil)
		defer func() { _ = a.body.Close() }()
		defer context.AfterFunc(g.ctx, func() { a.stop(errClosing) })()
		defer time.AfterFunc(afterEnd, func() { a.stop(errFinished) }).Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(a.body, 64<<10))
	})
}
