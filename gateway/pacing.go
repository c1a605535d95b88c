package gateway

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"weir/pace"
)

// pacer spreads the bursts of a stream's text over the time to the next, for
// the session's own client: what the relay log keeps is neither delayed nor cut.
// The pump brings events, and whatever is not plain text leaves with it; between
// them a timer lets pieces go. Its lock is held while they are written, so that
// they keep their order.
type pacer struct {
	s    *session
	room int // bytes in the client's queue above which nothing waits

	mu    sync.Mutex
	buf   *pace.Buffer[load]
	timer *time.Timer
	stuck *load // left the buffer and found no room
	over  bool
}

// mostQueued is the backlog of a client above which pacing only adds to it.
const mostQueued = 16 << 10

// timerSlack is kept of the bound, for a timer that is late.
const timerSlack = 2 * time.Millisecond

// stuckAgain is when a piece that found no room is tried again, unless the pump
// comes before.
const stuckAgain = 5 * time.Millisecond

// newPacer is nil where the route does not pace. A stream that others may
// resume is not cut: its ids, and the client that counts events, mean whole ones.
func newPacer(s *session) *pacer {
	c := s.x.route.Pacing
	if !c.Enabled || !s.x.ask.streamed {
		return nil
	}
	return &pacer{s: s, room: min(s.q.limit/4, mostQueued),
		buf: pace.New[load](pace.Options{MaxDelay: c.MaxDelay - timerSlack, Whole: s.x.wantsResume()})}
}

// take brings an event. It is the pump's.
func (p *pacer) take(l load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := pace.Event[load]{Bytes: l.bytes, Load: l}
	if a := p.s.last; l.text && l.clean && a != nil && !l.terminal {
		e.Text, e.Bytes = true, bytes.Clone(l.bytes) // it may outlive the read that brought it
		e.Form = pace.Form{Dialect: a.voice.name, Format: a.format}
	}
	p.buf.Push(e, time.Now())
	p.release(p.s.deliver)
}

// fire is the timer's.
func (p *pacer) fire() {
	defer p.s.guard("pacer")
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.release(p.s.offer)
	}
}

// drop forgets what waits.
func (p *pacer) drop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// finish lets all go that waits. It is the pump's, at its end.
func (p *pacer) finish() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buf.Flush()
	p.release(p.s.deliver)
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	r := p.buf.Report()
	if r.Before.N > 1 && r.After.N > 1 {
		p.s.x.g.see.Rhythm(p.s.x.route.Path, r.Before.Stddev, r.After.Stddev)
	}
}

// release hands out what may leave, as long as the client has room for it.
func (p *pacer) release(give func(*load) bool) {
	if p.s.q.size() > p.room {
		p.buf.Bypass()
	}
	for {
		l, ok := p.next()
		if !ok {
			break
		}
		if !give(&l) {
			p.stuck = &l
			p.sleep(stuckAgain)
			return
		}
	}
	if at, ok := p.buf.Next(); ok {
		p.sleep(max(time.Until(at), 0))
	}
}

func (p *pacer) sleep(d time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(d, p.fire)
		return
	}
	p.timer.Reset(d)
}

// next is the next piece that may leave. What is counted of an event is counted
// when it is out whole; the time it waited here is not the gateway's own latency.
func (p *pacer) next() (l load, ok bool) {
	if p.stuck != nil {
		l, p.stuck = *p.stuck, nil
		return l, true
	}
	piece, ok := p.buf.Pop(time.Now())
	if !ok {
		return l, false
	}
	l = piece.Load
	l.bytes = piece.Bytes
	if !piece.Last {
		l.events, l.tokens = 0, 0
	}
	if piece.Text {
		p.s.x.g.see.Paced(p.s.x.route.Path, piece.Delay)
		l.read = l.read.Add(piece.Delay)
	}
	return l, true
}

// tell says in a record what pacing did.
func (p *pacer) tell(m map[string]string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.buf.Report()
	if r.Events == 0 {
		return
	}
	set := func(name string, d time.Duration) {
		m["pacing_"+name+"_ms"] = strconv.FormatFloat(millis(d), 'f', -1, 64)
	}
	set("delay_mean", r.MeanDelay)
	set("delay_max", r.MaxDelay)
	if r.Before.N > 1 && r.After.N > 1 {
		set("gap_stddev_before", r.Before.Stddev)
		set("gap_stddev_after", r.After.Stddev)
	}
	m["pacing_events"], m["pacing_pieces"] = strconv.Itoa(r.Events), strconv.Itoa(r.Pieces)
	m["pacing_bypassed"] = strconv.Itoa(r.Bypassed)
}
