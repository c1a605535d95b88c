package mock

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"weir/stream"
)

// forever is later than anything a session waits for.
const forever = 1 << 62 * time.Nanosecond

// session plays one answer. All offsets are from the request's receipt and
// absolute: lateness of one event is never handed on to the next.
type session struct {
	ctx   context.Context
	b     *Behaviour
	talk  talk
	page  *page
	out   *out
	gate  *gate
	start time.Time
	stood time.Duration // of the gate at start
	timer *time.Timer
	times *rand.Rand
	says  *speaker

	nextBeat, nextFlush time.Duration
	words               []byte
	opened              bool
}

// ending is how an answer stops before its own end.
type ending uint8

const (
	goesOn ending = iota
	ends
	truncates
	resets
	fails
	hangs
)

// endingAfter says what happens after output k.
func (b *Behaviour) endingAfter(k int) ending {
	for _, f := range []struct {
		at stream.Maybe[int]
		is ending
	}{{b.ErrorAfter, fails}, {b.TruncateAfter, truncates}, {b.ResetAfter, resets}, {b.HangAfter, hangs}} {
		if at, ok := f.at.Get(); ok && at == k {
			return f.is
		}
	}
	if k == b.N {
		return ends
	}
	return goesOn
}

// first is when the first output is due, and what precedes it.
func (s *session) first() timing {
	t := timing{queue: s.b.Queue, ttft: s.b.TTFT.Sample(s.times)}
	for _, st := range s.b.Stages {
		t.prepare += st.Took
	}
	t.ttft = max(t.ttft, t.queue+t.prepare)
	return t
}

// stream plays the answer as a stream.
func (s *session) stream() error {
	wait := s.first()
	if s.b.Error == "first200" {
		s.talk.fail(s.page)
		return s.sendAt(wait.ttft)
	}
	if err := s.prelude(wait); err != nil {
		return err
	}
	at := wait.ttft
	for k := 0; ; k++ {
		if k > 1 {
			at += s.b.Gap.Sample(s.times)
		}
		s.page.reset()
		if !s.opened && (k > 0 || s.b.endingAfter(0) != goesOn) {
			s.open()
		}
		if k > 0 {
			s.tell(k, at, wait)
		}
		how := s.b.endingAfter(k)
		if how != goesOn {
			return s.finish(how, k, at)
		}
		if err := s.sendAt(at); err != nil {
			return err
		}
		at += s.stallAfter(k)
	}
}

func (s *session) open() {
	s.talk.open(s.page)
	s.opened = true
}

func (s *session) stallAfter(k int) time.Duration {
	if at, ok := s.b.StallAfter.Get(); ok && at == k {
		return s.b.Stall
	}
	return 0
}

// prelude plays what comes before the first output at times of its own.
func (s *session) prelude(wait timing) error {
	type step struct {
		at  time.Duration
		say func()
	}
	var steps []step
	if at, ok := s.talk.opensAt().Get(); ok {
		steps = append(steps, step{min(at, wait.ttft), s.open})
	}
	at := s.b.Queue
	if at > 0 {
		steps = append(steps, step{at, func() { s.talk.queue(s.page, s.b.Queue) }})
	}
	for _, st := range s.b.Stages {
		at += st.Took
		steps = append(steps, step{at, func() { s.talk.stage(s.page, st.Name, st.Took) }})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for _, st := range steps {
		s.page.reset()
		st.say()
		if err := s.sendAt(st.at); err != nil {
			return err
		}
	}
	return nil
}

// tell adds output k, and what leaves right before it, to the page.
func (s *session) tell(k int, at time.Duration, wait timing) {
	if k == 1 {
		s.talk.begin(s.page, wait)
	}
	for _, e := range s.b.Emits {
		if e.K == k {
			s.talk.emit(s.page, e.Name)
		}
	}
	s.talk.output(s.page, s.outputK(k, at))
}

func (s *session) outputK(k int, at time.Duration) output {
	b := s.b
	o := output{k: k, at: at, kind: stream.KindText, first: k == b.Reasoning+1, last: k == b.N-b.Tool}
	switch {
	case k <= b.Reasoning:
		o.kind, o.first, o.last = stream.KindReasoning, k == 1, k == b.Reasoning
	case k > b.N-b.Tool:
		o.kind, o.first, o.last = stream.KindTool, k == b.N-b.Tool+1, k == b.N
	}
	s.words = s.words[:0]
	if o.kind == stream.KindTool && o.first {
		s.words = append(s.words, `{"query":"`...)
	}
	s.words = s.says.say(s.words, b.TokensPerEvent)
	if o.kind == stream.KindTool && o.last {
		s.words = append(s.words, `"}`...)
	}
	o.text, o.state = s.words, stateAt(b.States, k)
	return o
}

// stateAt gathers the states that output k carries. A value that is JSON is
// that JSON, any other a string.
func stateAt(states []State, k int) map[string]any {
	var m map[string]any
	for _, st := range states {
		if st.K != k {
			continue
		}
		if m == nil {
			m = map[string]any{}
		}
		if json.Valid([]byte(st.Value)) {
			m[st.Key] = json.RawMessage(st.Value)
		} else {
			m[st.Key] = st.Value
		}
	}
	return m
}

// finish sends the page of the last output at its time and then ends as told.
func (s *session) finish(how ending, k int, at time.Duration) error {
	tail := &page{framing: s.page.framing, sse: s.page.sse, count: s.page.count}
	switch how {
	case ends:
		s.talk.close(tail)
	case fails:
		s.talk.fail(tail)
	}
	if s.b.NoBlank {
		if len(tail.frames) > 0 {
			tail.dropBlank()
		} else {
			s.page.dropBlank()
		}
	}
	if err := s.sendAt(at); err != nil {
		return err
	}
	s.page = tail
	if err := s.sendAt(at + s.stallAfter(k)); err != nil {
		return err
	}
	switch how {
	case hangs:
		return s.until(forever)
	case resets:
		if err := s.out.release(); err != nil {
			return err
		}
		s.out.reset()
	}
	return nil
}

// sendAt waits for the offset and sends the page's frames.
func (s *session) sendAt(at time.Duration) error {
	if s.page.err != nil {
		return s.page.err
	}
	if len(s.page.frames) == 0 {
		return nil
	}
	if err := s.until(at); err != nil {
		return err
	}
	return s.sendNow(s.page)
}

func (s *session) sendNow(p *page) error {
	for _, f := range p.frames {
		if err := s.out.send(p.buf[f.from:f.to], f.kind); err != nil {
			return err
		}
	}
	return nil
}

// until waits for the offset, doing what is due before it: heartbeats and
// flushes at a period.
func (s *session) until(at time.Duration) error {
	for {
		due, beat, flush := at, false, false
		if s.b.HeartbeatEvery > 0 && s.nextBeat < due {
			due, beat = s.nextBeat, true
		}
		if s.b.FlushEvery > 0 && s.nextFlush <= due {
			due, beat, flush = s.nextFlush, false, true
		}
		if err := s.sleep(due); err != nil {
			return err
		}
		var err error
		switch {
		case flush:
			s.nextFlush += s.b.FlushEvery
			err = s.out.release()
		case beat:
			s.nextBeat += s.b.HeartbeatEvery
			err = s.beat()
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// beat sends one heartbeat on a page of its own, for the next one is built.
func (s *session) beat() error {
	p := &page{framing: s.page.framing, sse: s.page.sse, count: s.page.count}
	if p.framing == framingWhole {
		p.comment("") // white space before a JSON body is no harm to it
	} else {
		s.talk.heartbeat(p, s.b.Heartbeat)
	}
	return s.sendNow(p)
}

// sleep waits until the offset, later by what the gate stood since the start.
func (s *session) sleep(at time.Duration) error {
	for {
		stood, err := s.gate.pass(s.ctx)
		if err != nil {
			return err
		}
		d := at - time.Since(s.start) + stood - s.stood
		if d <= 0 {
			return s.ctx.Err()
		}
		s.timer.Reset(d)
		select {
		case <-s.timer.C:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// whole plays the answer as one body, after the time the stream would take.
func (s *session) whole() error {
	wait := s.first()
	at, how := wait.ttft, goesOn
	for k := 0; how == goesOn; k++ {
		if k > 1 {
			at += s.b.Gap.Sample(s.times)
		}
		if k > 0 {
			s.page.reset()
			s.talk.output(s.page, s.outputK(k, at))
		}
		how = s.b.endingAfter(k)
		at += s.stallAfter(k)
	}
	if how == hangs {
		return s.until(forever)
	}
	if err := s.until(at); err != nil {
		return err
	}
	s.page.reset()
	switch how {
	case resets:
		s.out.reset()
	case fails:
		s.talk.fail(s.page)
	default:
		s.talk.whole(s.page)
	}
	if how == truncates && len(s.page.frames) > 0 {
		s.page.frames[0].to /= 2
	}
	return s.sendNow(s.page)
}
