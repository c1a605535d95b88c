package redis

import (
	"context"
	"errors"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
)

// What goes in one exchange.
const (
	mostStreams = 128
	mostEntries = 128     // of one stream
	mostPayload = 1 << 20 // bytes, about
)

// run copies until the context ends.
func (s *Spread) run(ctx context.Context) {
	tick := time.NewTicker(s.far.o.Linger)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case done := <-s.barriers:
			s.gather()
			done <- s.copyAll(ctx)
		case <-tick.C:
			s.gather()
			s.copyWhileUp(ctx)
		case <-s.work:
			s.copyWhileUp(ctx)
		}
	}
}

// gather makes what may wait urgent.
func (s *Spread) gather() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.later {
		if c.queued && !c.urgent {
			c.urgent = true
			s.soon = append(s.soon, c)
		}
	}
	s.later = s.later[:0]
}

// copyWhileUp copies what is urgent. While Redis is away the lease alone asks
// it: its sign wakes us.
func (s *Spread) copyWhileUp(ctx context.Context) {
	if s.far.Up() {
		_ = s.copyAll(ctx) // an outage is told once, where it begins
	}
	s.mu.Lock()
	pending := s.pending
	s.mu.Unlock()
	s.far.o.Observer.RelayQueued(pending)
}

func (s *Spread) copyAll(ctx context.Context) error {
	if err := s.say(ctx); err != nil {
		return err
	}
	if err := s.disown(ctx); err != nil {
		return err
	}
	for {
		batches, of := s.batches()
		if len(batches) == 0 {
			return nil
		}
		start := time.Now()
		errs := s.far.exchange(ctx, batches)
		entries, payload, streams := 0, 0, 0
		var failed error
		for i, b := range batches {
			err := s.settle(of[i], b, errs[i])
			if err != nil {
				failed = err
				continue
			}
			streams++
			entries += b.entries
			payload += b.payload
		}
		s.far.o.Observer.RelayAppended(streams, entries, payload, time.Since(start))
		if failed != nil {
			return failed
		}
	}
}

// batches takes urgent streams and plans what goes to Redis of each.
func (s *Spread) batches() (batches []*batch, of []*copied) {
	payload := 0
	for len(batches) < mostStreams && payload < mostPayload {
		s.mu.Lock()
		if len(s.soon) == 0 {
			s.soon = nil
			s.mu.Unlock()
			break
		}
		c := s.soon[0]
		s.soon = s.soon[1:]
		c.queued, c.urgent = false, false
		verify, over := c.verify, c.over
		c.verify = false
		s.mu.Unlock()
		if over {
			continue
		}
		if b := s.batch(c, verify); b != nil {
			batches, of = append(batches, b), append(of, c)
			payload += b.payload
		}
	}
	return batches, of
}

// batch is what is new of a stream; nil: nothing.
func (s *Spread) batch(c *copied, verify bool) *batch {
	w := c.w
	s.mu.Lock()
	appended, ended := c.appended, c.ended
	ring := c.followed || ended || w.mode != "a"
	s.mu.Unlock()
	entries, _, err := s.near.Peek(w.stream, relay.Position{Epoch: w.epoch, Offset: w.n}, mostEntries)
	switch {
	case err != nil: // the memory forgot it before it was copied, as one that ended or fell silent
		s.far.o.Observer.RelayDropped(appended-w.n, "overflow")
		b := s.far.planEnd(w, appended+1)
		return b
	case len(entries) == 0 && !verify:
		return nil
	case len(entries) == 0:
		return s.far.plan(w, w.n+1, nil, ring)
	}
	for i, size := 0, 0; i < len(entries); i++ {
		if size += len(entries[i].Frame); size > mostPayload && i > 0 {
			entries = entries[:i]
		}
	}
	if lost := entries[0].Offset - w.n - 1; lost > 0 && (w.mode == "a" || w.n > 0) {
		s.far.o.Observer.RelayDropped(lost, "overflow")
	}
	return s.far.plan(w, entries[0].Offset, entries, ring)
}

// settle takes over what came of a batch; its error says that Redis is away.
func (s *Spread) settle(c *copied, b *batch, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var behind *behindError
	switch {
	case c.over:
		return nil // dropped meanwhile
	case err == nil:
		b.done()
		s.copiedTo(c, b)
		return nil
	case errors.Is(err, relay.ErrGone) && c.leave:
		s.finish(c)
		s.past = append(s.past, past{c.w.stream, time.Now()})
		return nil
	case errors.Is(err, relay.ErrGone): // expired, evicted, flushed: from the beginning, as far as it is there
		s.rewrite(c, -1)
		return nil
	case errors.As(err, &behind): // of a failover
		s.rewrite(c, behind.has)
		return nil
	case isDown(err), s.far.ctx.Err() != nil:
		c.verify = true
		s.enqueue(c, true)
		return err
	}
	s.giveUp(c, err)
	return nil
}

// rewrite has a stream of which Redis lost entries copied again, from those that
// it has; -1: it has nothing of it. s.mu is held.
func (s *Spread) rewrite(c *copied, has int64) {
	s.far.o.Observer.RelayLost(c.w.rewind(has))
	c.verify = true
	s.enqueue(c, has >= 0)
}

// copiedTo is what Redis has now. s.mu is held.
func (s *Spread) copiedTo(c *copied, b *batch) {
	c.touched = c.w.refreshed
	n := min(int64(b.payload), c.pending)
	if c.w.n >= c.appended {
		n = c.pending // what was lost is not waited for
	}
	c.pending -= n
	s.pending -= n
	c.tell()
	switch {
	case c.w.n < c.appended:
		s.enqueue(c, true)
	case c.w.ended:
		s.finish(c)
		s.past = append(s.past, past{c.w.stream, time.Now()})
		s.makeRoom()
	}
}

// giveUp leaves a stream to whoever else writes it. s.mu is held.
func (s *Spread) giveUp(c *copied, err error) {
	s.far.o.Observer.RelayDropped(c.appended-c.w.n, "fenced")
	s.far.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "a stream is not kept in redis any more",
		slog.String("stream", c.w.stream), slog.String("error", err.Error()))
	s.finish(c)
}

// planEnd is the batch that ends a stream of which entries are missing.
func (l *Log) planEnd(w *writer, from int64) *batch {
	b := l.plan(w, from, nil, true)
	b.n, b.f, b.ended, b.refresh = from-1, from-1, true, true
	b.args[2], b.args[3], b.args[4] = b.f, l.o.TTL.Milliseconds(), "1"
	return b
}

// pendingKept is how long a stream is announced that does not begin.
const pendingKept = 10 * time.Minute

// announce says that a stream will be this instance's.
func (l *Log) announce(ctx context.Context, pipe goredis.Pipeliner, stream string, head []byte) {
	pipe.HSet(ctx, l.metaKey(stream), fieldOwner, l.o.Instance, fieldHead, head)
	pipe.PExpire(ctx, l.metaKey(stream), pendingKept)
}

// erase forgets a stream, and says so to who follows it.
func (l *Log) erase(ctx context.Context, pipe goredis.Pipeliner, stream string) {
	pipe.Del(ctx, l.metaKey(stream), l.logKey(stream))
	pipe.Publish(ctx, l.bellChannel(stream), dropped)
}

// say brings announcements to Redis.
func (s *Spread) say(ctx context.Context) error {
	s.mu.Lock()
	words := s.words
	s.words = nil
	s.mu.Unlock()
	if len(words) == 0 {
		return nil
	}
	l := s.far
	pipe := l.client.Pipeline()
	for _, w := range words {
		switch {
		case s.isOpen(w.stream): // it is said by now, or will be in a moment
		case w.head == nil:
			l.erase(ctx, pipe, w.stream)
		default:
			l.announce(ctx, pipe, w.stream, w.head)
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		s.mu.Lock()
		s.words = append(words, s.words...)
		s.mu.Unlock()
		return l.failed(ctx, err)
	}
	return nil
}

func (s *Spread) isOpen(stream string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[stream] != nil
}
