package gateway

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// writer writes a session's answer. Whoever holds its lock owns the
// ResponseWriter: as a rule the handler's goroutine. Where the stream has no
// other reader, the pump writes itself while that one has nothing to do: waking
// it for each event would cost more than everything else the gateway does.
type writer struct {
	mu     sync.Mutex
	gone   bool // the handler has returned, or is about to
	clean  bool // the client is between two events
	ended  bool // it has its terminal frame
	spoke  bool // it has output, or is about to
	begun  bool // the head has left
	http2  bool
	chunks chunks // what the body is written by once the head has left, where it can be
	s      *session
	err    error         // of the pump's own write
	busy   atomic.Int64  // when the write in progress began, Unix ns; 0 = there is none
	last   time.Time     // of the last write
	limit  time.Time     // write deadline in force
	most   time.Duration // that a write may take; this and the next two so that the exchange is not fetched for each event
	path   string        // of the route
	see    Observer

	w     http.ResponseWriter
	rc    *http.ResponseController
	o     *opening
	beat  []byte
	timer *time.Timer
}

// write waits for the opening, then brings what comes until the end, or until
// the client is gone.
func (s *session) write(w http.ResponseWriter, r *http.Request) {
	var out *writer
	defer func() { s.writerFailed(recover(), w, out) }()
	gone := r.Context().Done()
	o := s.awaitOpening(gone)
	if o == nil {
		s.lost(errClientGone)
		return
	}
	out = &writer{s: s, w: w, rc: http.NewResponseController(w), o: o, clean: true, http2: r.ProtoMajor >= 2,
		most: s.x.route.Slow.WriteTimeout, path: s.x.route.Path, see: s.x.g.see}
	defer out.leave()
	err := out.run(r)
	if err != nil {
		s.lost(err) // before the lock: the pump may be in a write that takes its time
	}
	out.leave()
	if err != nil {
		if t, ok := w.(told); ok {
			t.lost(err)
		}
		panic(http.ErrAbortHandler)
	}
	_ = out.rc.SetWriteDeadline(time.Time{}) // the connection may serve another request
}

// leave says that the handler is about to return: nobody writes any more.
func (o *writer) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone = true
}

// awaitOpening waits until there is something to answer: nil where the client
// left before.
func (s *session) awaitOpening(gone <-chan struct{}) *opening {
	var hold <-chan time.Time
	if s.x.ask.streamed {
		t := time.NewTimer(s.x.route.Open.Hold)
		defer t.Stop()
		hold = t.C
	}
	for {
		select {
		case <-s.opened:
			return s.current()
		case <-gone:
			return nil
		case <-hold:
			hold = nil
			s.openHeld()
		}
	}
}

func (o *writer) run(r *http.Request) error {
	if err := o.begin(r); err != nil {
		return err
	}
	o.beat = o.o.voice.heartbeat(o.o.format)
	pause := o.s.x.route.Heartbeat
	var tick <-chan time.Time
	if o.o.stream && pause > 0 && o.beat != nil {
		o.timer = time.NewTimer(pause)
		defer o.timer.Stop()
		tick = o.timer.C
	}
	if o.o.stream && !o.s.x.wantsResume() {
		o.s.out.Store(o)
	}
	for {
		more, done, err := o.next()
		switch {
		case err != nil:
			return err
		case more:
			continue
		case done:
			return o.finish()
		}
		select {
		case <-o.s.q.wake:
		case <-r.Context().Done():
			return o.whyGone()
		case <-tick:
			if err := o.idle(pause); err != nil {
				return err
			}
		}
	}
}

// whyGone tells a client that left from one whose write ran out of time: the
// server ends the request's context for both.
func (o *writer) whyGone() error {
	began := o.busy.Load()
	if began != 0 && time.Since(time.Unix(0, began)) >= o.most/2 {
		return errSlowClient
	}
	return errClientGone
}

// next writes what waits; done says that nothing will follow.
func (o *writer) next() (more, done bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false, false, o.err
	}
	if o.s.q.left() { // the client was too slow
		return false, false, errSlowClient
	}
	l, nudge, done := o.s.q.take()
	if len(l.bytes) > 0 {
		err := o.bring(&l)
		o.s.q.giveBack(l.bytes)
		return true, false, err
	}
	if nudge {
		err = o.say(o.beat)
	}
	return false, done, err
}

// direct writes an event at once, from the pump; false where it must go through
// the queue: the writer is busy, or something waits already.
func (o *writer) direct(l *load) bool {
	if !o.mu.TryLock() {
		return false
	}
	defer o.mu.Unlock()
	if o.gone || o.err != nil || !o.s.q.pass() {
		return false
	}
	if err := o.bring(l); err != nil {
		o.err = err
		o.s.q.leave() // wakes the writer, which tells the rest
	}
	return true
}

// begin sends status and headers. A stream's leave at once, so that the client
// knows it is one.
func (o *writer) begin(r *http.Request) error {
	h := o.w.Header()
	for key, values := range o.o.header {
		if key == "Vary" {
			values = slices.Concat(h[key], values) // of the page's origin
		}
		h[key] = values
	}
	o.s.x.id.tell(h)
	if h.Get(upstreamIDHeader) == o.s.x.id.request {
		h.Del(upstreamIDHeader)
	}
	if timing := o.s.serverTiming(); timing != "" {
		h.Set("Server-Timing", timing)
	}
	if o.o.stream && o.s.live != nil {
		h.Set("Weir-Stream", o.s.live.id)
		h.Set("Weir-Resumable", map[bool]string{true: "true", false: "false"}[o.s.x.g.claims(o.s.live)])
	}
	if !o.s.x.g.Ready() {
		h.Set("Connection", "close") // the next request is another gateway's
	}
	o.arm(time.Now())
	o.s.x.status = o.o.status
	o.w.WriteHeader(o.o.status)
	o.last = time.Now()
	defer o.disarm()
	if !o.o.stream {
		return nil
	}
	o.chunks = chunksOf(o.w, r, o.o.status)
	if o.s.q.size() > 0 {
		return nil // they leave together
	}
	return gone(o.flush())
}

// flush sends what net/http holds.
func (o *writer) flush() error {
	err := o.rc.Flush()
	o.begun = err == nil
	return err
}

// arm gives the next write its time.
func (o *writer) arm(now time.Time) {
	if moved(&o.limit, now, o.most) {
		_ = o.rc.SetWriteDeadline(o.limit) // a writer without deadlines is one of tests
	}
}

// moved gives a write that begins now its time, by a limit that is moved only
// when half of it is over: to move a deadline is a timer of the system, and
// writes are many.
func moved(limit *time.Time, now time.Time, timeout time.Duration) bool {
	if limit.Sub(now) > timeout/2 {
		return false
	}
	*limit = now.Add(timeout)
	return true
}

// disarm takes the deadline back where HTTP/2 is spoken: its streams are reset
// when their deadline passes, though nothing is being written.
func (o *writer) disarm() {
	if o.http2 {
		o.limit = time.Time{}
		_ = o.rc.SetWriteDeadline(o.limit)
	}
}

// bring writes what waited, whole events, and flushes.
func (o *writer) bring(l *load) error {
	if l.events > 0 && !o.spoke {
		o.spoke = true
		o.s.speaks(time.Now())
	}
	if l.terminal {
		if t, ok := o.w.(interface{ ending() }); ok {
			t.ending()
		}
	}
	if err := o.put(l.bytes); err != nil {
		return err
	}
	o.clean = l.clean
	o.ended = o.ended || l.terminal
	if !l.read.IsZero() {
		o.see.Relayed(o.path, o.last.Sub(l.read), l.events, len(l.bytes))
	}
	o.s.deliveredNow(l)
	return nil
}

func (o *writer) put(p []byte) error {
	now := time.Now()
	o.arm(now)
	o.busy.Store(now.UnixNano())
	if err := gone(o.send(p)); errors.Is(err, errClientGone) {
		return o.whyGone() // over HTTP/2 a write that ran out of time fails as if the client had left
	} else if err != nil {
		return err
	}
	o.disarm()
	o.busy.Store(0) // a write that failed stays begun, for whyGone
	o.last = time.Now()
	return nil
}

// send has bytes leave at once.
func (o *writer) send(p []byte) error {
	if o.begun && o.chunks.conn != nil {
		return o.chunks.write(p)
	}
	if _, err := o.w.Write(p); err != nil {
		return err
	}
	return o.flush()
}

// gone tells a client that does not read from one that left.
func gone(err error) error {
	if err == nil {
		return nil // before anything that would be made for every event
	}
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return errSlowClient
	}
	return errClientGone
}

// idle sends a heartbeat where nothing was written for the pause. The timer is
// not moved at each write: it looks, and sleeps for what is left.
func (o *writer) idle(pause time.Duration) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err // what the pump wrote is torn
	}
	left := pause - time.Since(o.last)
	if left <= 0 {
		if err := o.say(o.beat); err != nil {
			return err
		}
		left = pause
	}
	o.timer.Reset(left)
	return nil
}

// say writes bytes of the gateway's own, if a client can take them now.
func (o *writer) say(p []byte) error {
	if len(p) == 0 || !o.clean || o.ended || !o.o.stream {
		return nil
	}
	if t, ok := o.w.(told); ok {
		o.last = time.Now()
		return gone(t.beat())
	}
	return o.put(p)
}

// finish is the end of the answer: the server ends the body.
func (o *writer) finish() error {
	<-o.s.pumped
	if o.s.broken.Load() {
		return errClientGone // what cannot be said in its protocol is said by cutting it
	}
	return nil
}
