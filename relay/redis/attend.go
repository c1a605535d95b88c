package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"weir/relay"
)

// Up reports whether Redis can be reached; see relay.Shared.
func (s *Spread) Up() bool { return s.far.Up() }

// Attend says who is told what others ask; see relay.Shared.
func (s *Spread) Attend(a relay.Attendant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attend = a
}

// mostWords bounds what is to be said while Redis is away.
const mostWords = 10_000

// Announce says that a stream will be opened; see relay.Shared.
func (s *Spread) Announce(stream string, head []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[stream] == nil && len(s.words) < mostWords {
		s.words = append(s.words, word{stream, append([]byte{}, head...)})
		s.wake()
	}
}

// Retract says that it will not be; see relay.Shared.
func (s *Spread) Retract(stream string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[stream] == nil && len(s.words) < mostWords {
		s.words = append(s.words, word{stream: stream})
		s.wake()
	}
}

// take is told what another instance says.
func (s *Spread) take(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attend
	switch m.Kind {
	case kindStop:
		if a != nil {
			go a.Stop(m.Stream) // it may append, which takes s.mu
		}
	case kindFollow:
		s.follow(m)
	case kindLeave:
		s.leave(m.Stream, m.From)
	}
}

// follow notes that somebody elsewhere follows, which is said again and again.
// Bells that did not ring before are made up for, and what Redis took and lost
// is noticed. s.mu is held.
func (s *Spread) follow(m Message) {
	p := s.present[m.Stream]
	if p == nil {
		p = map[string]time.Time{}
		s.present[m.Stream] = p
		if s.attend != nil {
			go s.attend.Follow(m.Stream, +1)
		}
	}
	p[m.From] = time.Now()
	if c := s.by[m.Stream]; c != nil {
		c.followed, c.verify = true, true
		s.enqueue(c, true)
		return
	}
	if s.again(m.Stream, false) { // the word may be older than the end, and the stream dropped since
		s.past = slices.DeleteFunc(s.past, func(p past) bool { return p.stream == m.Stream }) // until it is there again
		return
	}
	if since, known := s.strays[m.Stream]; !known {
		s.strays[m.Stream] = time.Now()
	} else if time.Since(since) > 2*s.far.o.Lease { // nobody has taken it over by now
		s.disowned = append(s.disowned, m.Stream)
		s.wake()
	}
}

// leave notes that nobody at an instance follows any more. s.mu is held.
func (s *Spread) leave(stream, instance string) {
	p := s.present[stream]
	if p == nil {
		return
	}
	if delete(p, instance); len(p) > 0 {
		return
	}
	delete(s.present, stream)
	if c := s.by[stream]; c != nil {
		c.followed = s.wait > 0
	}
	if s.attend != nil {
		go s.attend.Follow(stream, -1)
	}
}

// signed is called after every sign of life: who has not said for long that it
// follows does not, a stream that is silent is kept from expiring, and a Redis
// that lost its content gets it again, or one that is back and has less.
func (s *Spread) signed(said sign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream, p := range s.present {
		for instance, last := range p {
			if time.Since(last) > 3*sayAgain {
				s.leave(stream, instance)
			}
		}
	}
	for stream, since := range s.strays {
		if time.Since(since) > 2*s.far.o.Lease+3*sayAgain {
			delete(s.strays, stream)
		}
	}
	for _, c := range s.by {
		if said.lost || said.back || time.Since(c.touched) > s.far.life()/3 {
			c.verify = true
			s.enqueue(c, true)
		}
	}
	if said.lost || said.back {
		s.bringBack(said.lost)
	}
	if len(s.soon) > 0 || len(s.words) > 0 {
		s.wake()
	}
}

// bringBack has those copied again that ended a while ago and are still in
// memory: somebody may have been cut off before their end. Where nothing says
// that Redis lost something, what is not there was dropped. s.mu is held.
func (s *Spread) bringBack(lost bool) {
	keep := s.past[:0]
	for _, p := range s.past {
		if s.by[p.stream] != nil || !s.again(p.stream, lost) {
			keep = append(keep, p)
		}
	}
	s.past = keep
}

// again has an ended stream that is still in memory compared with Redis, and
// copied where that has less, or, where whole says so, nothing. It reports whether
// the stream is in memory. s.mu is held.
func (s *Spread) again(stream string, whole bool) bool {
	state, err := s.near.Stat(context.Background(), stream) // memory alone: it does not wait
	if err != nil || !state.Ended {
		return err == nil // one that runs and is not copied was given up
	}
	c := &copied{w: &writer{stream: stream, head: state.Head, epoch: state.Last.Epoch, mode: "a", behind: "1", n: state.Last.Offset, ended: true},
		verify: true, appended: state.Last.Offset, ended: true, followed: s.wait > 0, leave: !whole, touched: time.Now()}
	s.by[stream] = c
	s.enqueue(c, true)
	return true
}

// disown ends streams that Redis says are this instance's and of which it knows
// nothing any more: who waits for their end gets a gap instead. One that was
// only announced is left as it is.
func (s *Spread) disown(ctx context.Context) error {
	s.mu.Lock()
	strays := s.disowned
	s.disowned = nil
	s.mu.Unlock()
	for i, stream := range strays {
		if s.isOpen(stream) {
			continue
		}
		m, err := s.far.stat(ctx, stream)
		if err == nil && !m.Ended && m.owner == s.far.o.Instance && !s.isOpen(stream) {
			w := &writer{stream: stream, epoch: m.Last.Epoch, mode: "a", n: m.Last.Offset, f: m.First.Offset}
			err = s.far.exchange(ctx, []*batch{s.far.planEnd(w, m.Last.Offset+2)})[0]
			s.far.o.Observer.RelayDropped(1, "forgotten")
			s.far.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a stream ends with a gap: redis lost its end, and so has the memory",
				slog.String("stream", stream))
		}
		if isDown(err) {
			s.mu.Lock()
			s.disowned = append(s.disowned, strays[i:]...)
			s.mu.Unlock()
			return err
		}
	}
	return nil
}

// Await waits for a stream to have something to read; see relay.Shared.
func (s *Spread) Await(ctx context.Context, stream string) (relay.State, error) {
	if state, err := s.near.Stat(ctx, stream); err == nil {
		return state, nil
	}
	return s.far.Await(ctx, stream)
}

// Await waits for a stream that is relay.ErrPending to have something to read.
func (l *Log) Await(ctx context.Context, stream string) (relay.State, error) {
	f, err := l.join(stream)
	if err != nil {
		return relay.State{}, err
	}
	defer l.part(f)
	r := &reader{l: l, f: f}
	r.subscribed(ctx)
	for {
		_, _, _, news := f.look(relay.Position{}, 0)
		m, err := l.stat(ctx, stream)
		if err == nil || !errors.Is(err, relay.ErrPending) {
			return m.State, err
		}
		f.found(m)
		l.greet(f)
		if err = f.verdict(l.o.Lease); err != nil {
			return m.State, fmt.Errorf("stream %s: %w", stream, err)
		}
		if r.wait(ctx, news); ctx.Err() != nil {
			return m.State, context.Cause(ctx)
		}
	}
}

// Stop asks the owner of a stream to end it; see relay.Shared.
func (s *Spread) Stop(ctx context.Context, stream string) (ended bool, err error) {
	return s.far.Stop(ctx, stream)
}

// stopWait is how long Stop waits for the end.
const stopWait = 1500 * time.Millisecond

// Stop asks the owner of a stream to end it, and waits a little for that.
func (l *Log) Stop(ctx context.Context, stream string) (ended bool, err error) {
	m, err := l.stat(ctx, stream)
	switch {
	case err != nil && !errors.Is(err, relay.ErrPending):
		return false, fmt.Errorf("stream %s: %w", stream, err)
	case m.Ended:
		return false, fmt.Errorf("stream %s: %w", stream, relay.ErrEnded)
	}
	if alive, err := l.Alive(ctx, m.owner); err != nil || !alive {
		if err == nil {
			err = relay.ErrOrphaned
		}
		return false, fmt.Errorf("stream %s: %w", stream, err)
	}
	if err := l.Tell(ctx, m.owner, Message{Kind: kindStop, Stream: stream}); err != nil {
		return false, fmt.Errorf("stream %s: %w", stream, err)
	}
	if !m.there {
		return false, nil
	}
	wait, stop := context.WithTimeout(ctx, stopWait)
	defer stop()
	for e, err := range l.After(wait, stream, m.Last) {
		switch {
		case errors.Is(err, relay.ErrGone):
			return true, nil
		case err != nil:
			return false, nil // the owner was told; its end was not seen
		case e.Terminal:
			return true, nil
		}
	}
	return true, nil
}
