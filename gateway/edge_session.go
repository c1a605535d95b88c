package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"weir/http1"
	"weir/relay"
	"weir/stream"
)

// letter is a session's request at the workers, and the way back: a body whose
// reads are the entries of the stream that the worker writes. What reads it is
// the same as for a service.
type letter struct {
	s      *session
	e      *edge
	ctx    context.Context
	give   context.CancelCauseFunc // ends ctx with the reason for the client
	stream string
	ticket string
	head   streamHead

	at    relay.Position
	next  func() (relay.Entry, error, bool)
	stop  func()
	ended bool
	fresh bool // the entry at hand was not stamped yet

	bereft time.Time // since when the worker is gone that opened the answer and wrote nothing; zero: it is not
}

// askWorker has a worker ask the service, and reads its answer.
func (s *session) askWorker() {
	s.attempts = 1
	ctx, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	l := &letter{s: s, e: s.x.g.edge, ctx: ctx, give: stop, stream: randomID()}
	if s.live != nil {
		l.stream = s.live.id
		s.live.settle() // the queue tells others of it
	}
	defer l.leave()
	if f := s.viaWorker(l); f != nil {
		s.failed(f)
	}
}

func (s *session) viaWorker(l *letter) *failure {
	a := &attempt{s: s, base: URL{&url.URL{Scheme: "weir", Host: "workers"}}, last: true, ctx: l.ctx, stop: l.give,
		start: http1.StartClock(), voice: s.x.voice, body: l,
		clock: stamps{settled: true, stamp: stream.StampBody, why: "an edge stamps what its worker wrote when it reads that"}}
	a.trip.T0 = a.start
	s.last = a
	j, err := s.x.order(l.stream, s.live != nil && s.live.canResume())
	if err == nil {
		l.ticket, err = l.e.queue.Put(l.ctx, j)
	}
	if err != nil {
		return s.x.queueFailure(l.ctx, err)
	}
	if f := l.await(true); f != nil {
		return f
	}
	defer func() { _ = l.Close() }()
	a.resp = &http.Response{StatusCode: l.head.Status, Header: l.head.Header, Proto: "relay"}
	a.format = l.head.Format
	if s.live != nil && !canBeResumed(a.format) {
		s.live.mu.Lock()
		s.live.resumable = false
		s.live.mu.Unlock()
	}
	if a.format == formatBody {
		if s.fail = l.head.failure(); s.fail != nil {
			s.reason = s.fail.reason
		}
		return a.plain(nil)
	}
	if s.live != nil && s.live.ids && a.format == "sse" {
		s.keep = &stamper{l: l, hint: hint{drain: s.x.g.drain}}
		defer l.moveOnDrain()()
	}
	return a.stream(nil)
}

// formatBody is the format of an answer that is no stream.
const formatBody = "body"

// canBeResumed reports whether a client could say where it is in a stream.
func canBeResumed(format string) bool { return format == "sse" || format == "ndjson" }

// cutMark is the last entry of such an answer, where it is not whole.
const cutMark = "cut"

// await waits until a worker has opened the answer. first says that the job may
// still wait for one.
func (l *letter) await(first bool) *failure {
	wait := l.s.x.g.c.Workers.QueueWait
	var since time.Time // when something began to be wrong
	for {
		ctx, stop := l.ctx, context.CancelFunc(func() {})
		if first {
			ctx, stop = context.WithTimeoutCause(l.ctx, wait, errQuiet)
		}
		state, err := l.e.log.Await(ctx, l.stream)
		expired := first && ctx.Err() != nil
		stop()
		switch {
		case l.ctx.Err() != nil:
			return causeFailure(context.Cause(l.ctx))
		case err == nil:
			if json.Unmarshal(state.Head, &l.head) != nil || l.head.Status == 0 {
				return causeFailure(errWorkerLost)
			}
			l.s.hear(l.head.Phases)
			return nil
		case expired:
			if back, err := l.e.queue.Recall(l.ctx, l.stream, l.ticket); back || err != nil {
				return l.unheard()
			}
			first = false
			continue
		case since.IsZero():
			since = time.Now()
		}
		if f := l.bear(err, time.Since(since)); f != nil {
			return f
		}
	}
}

// mostTakeover is how long an edge waits for another worker to take a request
// over: twice the two leases that it takes.
const mostTakeover = 12 * time.Second

// lookAgain is how long it lets pass before it looks again.
const lookAgain = 100 * time.Millisecond

// bear waits a little where what is wrong may pass.
func (l *letter) bear(err error, lasts time.Duration) *failure {
	most := mostTakeover
	cause := errWorkerLost
	switch {
	case errors.Is(err, relay.ErrDown):
		most, cause = l.s.x.g.c.Relay.Outage, errRelayDown
	case errors.Is(err, relay.ErrOrphaned), errors.Is(err, relay.ErrPending):
	case errors.Is(err, relay.ErrGone):
		most = time.Second // a Redis that lost its content lost the queue too
	}
	if lasts >= most {
		return causeFailure(cause)
	}
	if err := waitFor(l.ctx, lookAgain); err != nil {
		return causeFailure(err)
	}
	return nil
}

func (l *letter) unheard() *failure {
	l.s.x.g.see.Queued(l.s.x.route.Path, time.Since(l.s.x.start), "workers_wait")
	return &failure{reason: "overloaded_workers", text: "no worker was free in time; try again later",
		status: http.StatusServiceUnavailable, retryable: true, after: comeAgain()}
}

// Next implements body: one entry, which is one event.
func (l *letter) Next() (*http1.Arrived, error) {
	for !l.ended {
		if l.next == nil {
			l.next, l.stop = iter.Pull2(l.e.log.After(l.ctx, l.stream, l.at))
		}
		e, err, ok := l.next()
		switch {
		case !ok:
			l.ended = true
		case err != nil:
			_ = l.Close()
			if !l.again(err) {
				return &http1.Arrived{}, err
			}
		default:
			l.at, l.ended, l.fresh = e.Position, e.Terminal, true
			if e.Terminal && l.head.Format == formatBody && string(e.Frame) == cutMark {
				return &http1.Arrived{}, io.ErrUnexpectedEOF
			}
			if len(e.Frame) > 0 {
				return &http1.Arrived{Data: e.Frame, App: time.Now(), Waited: true}, nil
			}
		}
	}
	return &http1.Arrived{}, io.EOF
}

// again reports whether the stream goes on after an error of the log: where
// nothing of it was there, another worker may have begun it anew. Otherwise it
// says why it does not.
func (l *letter) again(err error) bool {
	cause := errWorkerLost
	var gap *relay.GapError
	switch {
	case l.ctx.Err() != nil:
		return false
	case errors.Is(err, relay.ErrDown):
		cause = errRelayDown
	case errors.As(err, &gap) && (l.at.Offset > 0 || gap.Asked.Epoch == gap.Last.Epoch): // else it is begun anew
		cause = errRelayGap
	case l.at.Offset == 0:
		if l.bereft.IsZero() {
			l.bereft = time.Now()
		}
		if f := l.bear(err, time.Since(l.bereft)); f != nil {
			break
		}
		before := l.head
		if l.await(false) == nil && l.head.Format == before.Format && l.head.Status == before.Status {
			l.at = relay.Position{}
			return true
		}
	}
	l.give(cause)
	return false
}

// Read implements body: of what follows the end, nothing is of use.
func (l *letter) Read([]byte) (int, error) {
	if _, err := l.Next(); err != nil {
		return 0, err
	}
	return 0, nil
}

// Close implements body.
func (l *letter) Close() error {
	if l.stop != nil {
		l.stop()
		l.next, l.stop = nil, nil
	}
	return nil
}

// leaveWait bounds what an edge says when it leaves.
const leaveWait = 2 * time.Second

// leave tells the worker that nobody here waits any more, and that the client
// said stop where it did. A stream that nobody else may read is dropped.
func (l *letter) leave() {
	ctx, stop := context.WithTimeout(context.Background(), leaveWait)
	defer stop()
	private := l.s.live == nil || !l.s.live.canResume()
	switch {
	case l.ticket == "":
	case l.ended && private:
		_ = l.e.log.Drop(ctx, l.stream) // else it expires
	case l.ended:
	case errors.Is(context.Cause(l.s.ctx), errStopped):
		if back, err := l.e.queue.Recall(ctx, l.stream, l.ticket); !back && err == nil {
			_, _ = l.e.log.Stop(ctx, l.stream)
		}
	default:
		_ = l.e.queue.Leave(ctx, l.stream, l.ticket) // else its worker finds that nobody follows
	}
}

// moveWithin is the time over which an edge that closes lets go of its clients.
const moveWithin = 5 * time.Second

// moveOnDrain lets go of a client that can resume when the gateway closes, at a
// moment of its own: it was told when to come back with the last event before.
func (l *letter) moveOnDrain() (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-l.s.x.g.drain:
		case <-done:
			return
		}
		t := time.NewTimer(time.Second + rand.N(moveWithin))
		defer t.Stop()
		select {
		case <-t.C:
			l.s.end(errMoved)
		case <-done:
		}
	}()
	return func() { close(done) }
}

// stamper is the keeper of an edge: the log has the events already, and they get
// the ids that they have there.
type stamper struct {
	l    *letter
	hint hint
	any  bool
	buf  []byte
}

// Append implements keeper.
func (k *stamper) Append(event []byte, _ bool) ([]byte, error) {
	if !k.l.fresh { // it is the edge's own
		return event, nil
	}
	k.l.fresh = false
	var stamped bool
	k.buf, stamped = relay.AppendStamped(k.buf[:0], event, k.l.stream, k.l.at, k.hint.retry(event, !k.any))
	k.hint.said(stamped)
	k.any = k.any || stamped
	return k.buf, nil
}

// Forget implements keeper: an edge has one attempt.
func (k *stamper) Forget() error { return nil }

// Close implements keeper: the worker ends the stream.
func (k *stamper) Close() {}
