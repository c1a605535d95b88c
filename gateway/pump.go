package gateway

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"weir/stream"
)

// result is what came of a session, as its pump found it.
type result struct {
	generated Amount
	genTokens int
	uncounted int    // business events without a count
	counted   bool   // the protocol counts tokens per event
	closed    bool   // the client's last frame is on its way
	terminal  string // done, error, or "" none

	attempts int
	last     *attempt         // the attempt whose answer counts
	records  []*stream.Record // of that attempt's stream
	status   int              // what the client was answered
	reason   string           // why the gateway ended it
	fail     *failure         // the same as its client was told it, where there is more to say
	notes    []string
	firstOut stream.Maybe[time.Duration] // since t0
	pumped   chan struct{}               // closed when the pump has ended
	broken   atomic.Bool                 // the answer cannot be ended in its own protocol
}

// pump asks the upstream, again where that is allowed, and reads its answer.
func (s *session) pump() {
	defer close(s.pumped) // after leave: where there is a client, its writer concludes, before the answer's end
	defer s.lastResort()
	defer s.leave()
	defer s.q.close()
	defer s.meter.leave()
	defer s.pace.finish()
	defer s.clock.stop()
	defer s.closeKeeper()
	defer s.recovered()
	if s.x.g.edge != nil {
		s.askWorker()
		return
	}
	s.askAll()
}

// askAll makes attempts until one has an answer for the client.
func (s *session) askAll() {
	n := s.x.route.Retry.Attempts
	t := newTurns(s.x.route.upstream)
	for {
		s.mu.Lock()
		s.attempts++
		s.mu.Unlock()
		last := s.attempts == n
		f := s.attempt(t.url(), last)
		if f == nil {
			return
		}
		if last || !s.mayRetry(f) {
			s.failed(f)
			return
		}
		if no := s.pause(t, f); no != nil {
			s.failed(no)
			return
		}
	}
}

// mayRetry reports whether another attempt is allowed: nobody saw anything of
// this one, and asking again does no harm.
func (s *session) mayRetry(f *failure) bool {
	if f.final || !f.retryable || s.ctx.Err() != nil {
		return false
	}
	unasked := f.reason == "upstream_connect" || f.reason == "upstream_timeout"
	return (unasked || s.harmless()) && s.q.unsay() && s.forgetKept()
}

// harmless reports whether the request may come twice: a question to a model,
// or one that changes nothing.
func (s *session) harmless() bool {
	return s.x.dialect != nil || s.x.ask.streamed || s.x.method == http.MethodGet || s.x.method == http.MethodHead
}

// forgetKept drops what the relay log has of an attempt that nobody saw. It
// reports true: without a log the next attempt is just not kept.
func (s *session) forgetKept() bool {
	if s.keep != nil && s.keep.Forget() != nil {
		s.closeKeeper()
	}
	return true
}

// maxPause is the longest the gateway itself waits before a retry: a service
// that asks for more is left to the client, who is told.
const maxPause = 30 * time.Second

// pause waits between two attempts. No address is asked before it wants to be,
// by its Retry-After; others are not kept waiting for that. It returns what the
// client is told where the wait is not worth it.
func (s *session) pause(t *turns, f *failure) *failure {
	route := s.x.route
	now := time.Now()
	t.failed(f, now)
	wait, longer := t.next(now, backoff(route.Retry.Backoff, s.attempts-1))
	if wait > maxPause {
		if longer != nil {
			return longer
		}
		return f
	}
	s.x.g.see.Retried(route.Path, f.reason)
	s.notes = append(s.notes, "attempt "+strconv.Itoa(s.attempts)+" failed: "+f.reason)
	s.x.g.log.LogAttrs(context.Background(), slog.LevelInfo, "retry", slog.String("request_id", s.x.id.request),
		slog.Int("attempt", s.attempts), slog.String("reason", f.reason), slog.Duration("wait", wait))
	if waitFor(s.ctx, wait) != nil {
		return f
	}
	return nil
}

// waitFor lets a time pass; the cause of the context's end where that comes first.
func waitFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// backoff is the pause after an attempt, the first being 0: twice as long each
// time, and up to half as much again by chance, so that those who failed
// together do not come again together.
func backoff(first time.Duration, attempt int) time.Duration {
	wait := first << min(attempt, 6)
	return wait + rand.N(wait/2+1)
}

// failed tells the client that there is no answer, or no whole one: by HTTP
// where it was not answered yet, else by the one terminal frame.
func (s *session) failed(f *failure) {
	if s.ctx.Err() != nil { // whatever the upstream said, it was we who ended it
		f = causeFailure(context.Cause(s.ctx))
	}
	f.requestID = s.x.id.request
	s.reason, s.fail = f.reason, f
	if f.answer == nil {
		s.answerFor(f)
	}
	f.answer.refusal = f
	if s.openWith(f.answer, f.body) {
		s.status = f.answer.status
		return
	}
	f.text = s.x.words(f)
	s.terminate(f)
}

// answerFor makes the HTTP answer of a failure of the gateway's own.
func (s *session) answerFor(f *failure) {
	contentType, body := s.x.voice.body(f)
	h := http.Header{"Content-Type": {contentType}, "Cache-Control": {"no-store"},
		"Content-Length": {strconv.Itoa(len(body))}}
	if f.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int((f.after+time.Second-1)/time.Second)))
	}
	f.answer, f.body = &opening{status: f.status, header: h}, body
}

// terminate ends a stream that was opened with an error frame.
func (s *session) terminate(f *failure) {
	f.requestID = s.x.id.request
	s.reason, s.fail = f.reason, f
	o := s.current()
	s.status = o.status
	if errors.Is(context.Cause(s.ctx), errMoved) { // it ends elsewhere
		s.broken.Store(true)
		return
	}
	var seq int64
	some := false
	v := o.voice
	if a := s.last; a != nil && a.tap != nil {
		v, seq, some = a.voice, a.seq+1, a.sent
	}
	var frame []byte
	if o.stream {
		f.sent = sent(s.generated.Events, stated(s.records))
		frame = v.terminal(o.format, f, seq, some)
	}
	if frame == nil {
		s.broken.Store(true)
		return
	}
	s.terminal = "error"
	s.send(frame, &load{clean: true, terminal: true})
}

// send keeps an event, where events are kept, and brings it on its way to the
// client: at once, or as its rate and its pacing say.
func (s *session) send(event []byte, l *load) {
	s.meter.wait(l)
	if s.keep != nil {
		sent, err := s.keep.Append(event, l.terminal)
		if err != nil {
			s.x.g.log.LogAttrs(context.Background(), slog.LevelWarn, "a stream is no longer kept",
				slog.String("request_id", s.x.id.request), slog.String("error", err.Error()))
			s.notes = append(s.notes, "the relay log failed: it can no longer be resumed")
			s.closeKeeper()
		} else {
			event = sent
		}
	}
	l.bytes = event
	if s.pace != nil {
		s.pace.take(*l)
	} else {
		s.together(l)
	}
	s.closed = s.terminal != ""
}

// mostGathered bounds what gathers, keepGathered the buffer that a stream holds
// on to, in bytes.
const (
	mostGathered = 16 << 10
	keepGathered = 2 << 10
)

// together lets the events of one read leave in one write, instead of a write
// and a flush for each.
func (s *session) together(l *load) {
	if !s.more && len(s.gather.bytes) == 0 {
		s.deliver(l)
		return
	}
	s.gather.add(l)
	if !s.more || l.terminal || len(s.gather.bytes) >= min(mostGathered, s.q.limit/4) {
		s.part()
	}
}

// part delivers what has gathered.
func (s *session) part() {
	if l := s.gather; len(l.bytes) > 0 {
		s.gather = load{}
		s.deliver(&l)
		if cap(l.bytes) <= keepGathered {
			s.gather.bytes = l.bytes[:0]
		}
	}
}

// deliver brings bytes to the client, or has it that the client is too slow. It
// is the pump's, and always true: nothing is left to be done.
func (s *session) deliver(l *load) bool {
	for !s.offer(l) {
		if !s.slow() {
			break
		}
	}
	return true
}

// offer brings bytes to the client, if there is room for them.
func (s *session) offer(l *load) bool {
	if out := s.out.Load(); out != nil && out.direct(l) {
		return true
	}
	return s.q.put(l)
}

// slow is what happens when a client's queue is full; true where there may be
// room now.
func (s *session) slow() bool {
	if s.x.route.Slow.Policy == Block {
		s.clock.wait(true)
		defer s.clock.wait(false)
		select {
		case <-s.q.room:
			return true
		case <-s.ctx.Done():
			return false
		}
	}
	s.notes = append(s.notes, "the client did not read: its queue of "+strconv.Itoa(s.q.limit)+" bytes was full")
	if s.keep == nil || s.x.route.Slow.Policy == Drop || s.x.g.edge != nil {
		s.end(errSlowClient)
	}
	s.q.leave() // the writer tells the rest of the session
	return false
}

// keepStream opens the relay log of a stream that is to be kept, unless an
// attempt before has. It is who asks the service that keeps: an edge does not.
func (s *session) keepStream(format string) {
	if s.live == nil || s.keep != nil || !s.live.resumable {
		return
	}
	s.live.mu.Lock()
	s.live.format = format
	s.live.mu.Unlock()
	s.keep = s.x.g.newKeeper(s.live)
	s.live.mu.Lock()
	s.live.resumable = s.keep != nil
	s.live.mu.Unlock()
}

func (s *session) closeKeeper() {
	if s.keep != nil {
		s.keep.Close()
		s.keep = nil
	}
}

// settle takes over the records of an attempt whose answer counts.
func (s *session) settle(a *attempt, c stream.Closing) {
	if a.tap == nil {
		return
	}
	s.records = a.tap.Close(a.record(), c)
}
