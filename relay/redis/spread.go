package redis

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"weir/relay"
)

// Spread is a relay.Shared whose own streams are in memory, as without Redis,
// and are copied to Redis by one goroutine. An append never waits for it; the
// memory is the queue. So an outage costs nothing that the memory still holds
// when Redis is back, and a database that lost its content gets it again. What
// the memory had to forget before it was copied is a gap elsewhere.
//
// Streams that are not in the memory are read from Redis.
type Spread struct {
	near *relay.Memory
	far  *Log
	wait int64 // see Waiting

	mu       sync.Mutex
	by       map[string]*copied
	soon     []*copied // to be copied now
	later    []*copied // with the next tick
	words    []word
	strays   map[string]time.Time            // followed elsewhere as ours and not known here → since when
	disowned []string                        // of those, to be ended
	past     []past                          // ended streams that Redis keeps, longest ended first
	present  map[string]map[string]time.Time // stream → instance that follows → its last sign
	attend   relay.Attendant
	pending  int64
	work     chan struct{}
	barriers chan chan error

	stop    context.CancelFunc
	running sync.WaitGroup
}

// copied is a stream of this instance on its way to Redis.
type copied struct {
	w        *writer // the copying goroutine's own
	followed bool    // somebody elsewhere waits for it

	// Guarded by Spread.mu.
	appended int64 // newest entry
	pending  int64 // bytes that are not in Redis
	ended    bool
	over     bool // copied, dropped or given up
	leave    bool // where Redis has nothing of it, it is to stay like that
	queued   bool
	urgent   bool
	verify   bool          // say where we are though nothing is new
	touched  time.Time     // when its expiry was set
	room     chan struct{} // closed when something was copied; nil while nobody waits
}

// past is a stream of ours that Redis keeps until its time is over.
type past struct {
	stream string
	at     time.Time
}

// word is what is said of a stream that is not open: that it will be, or that
// it is gone.
type word struct {
	stream string
	head   []byte // nil: gone
}

// NewSpread joins the two; it owns them from now on.
func NewSpread(near *relay.Memory, far *Log) *Spread { return newSpread(near, far, 0) }

// NewWaiting is a Spread for a process whose streams are read elsewhere only:
// everything is copied at once, an append waits while a MiB of its stream is on
// its way, and is relay.ErrDown when Redis has been away for the time of an
// outage.
func NewWaiting(near *relay.Memory, far *Log) *Spread { return newSpread(near, far, 1<<20) }

func newSpread(near *relay.Memory, far *Log, wait int64) *Spread {
	s := &Spread{near: near, far: far, wait: wait, by: map[string]*copied{}, present: map[string]map[string]time.Time{}, strays: map[string]time.Time{},
		work: make(chan struct{}, 1), barriers: make(chan chan error)}
	far.Handle(s.take)
	far.onSign(s.signed)
	ctx, stop := context.WithCancel(far.ctx)
	s.stop = stop
	s.running.Go(func() { s.run(ctx) })
	return s
}

// Far is the log in Redis.
func (s *Spread) Far() *Log { return s.far }

// closeWait is how long Close waits for what is on its way.
const closeWait = 2 * time.Second

// Close copies what is left, if Redis takes it within two seconds, and closes
// both logs.
func (s *Spread) Close() error {
	ctx, stop := context.WithTimeout(context.Background(), closeWait)
	defer stop()
	err := s.Flush(ctx)
	s.stop()
	s.running.Wait()
	if n := s.left(); n > 0 {
		s.far.o.Observer.RelayDropped(n, "closed")
		err = fmt.Errorf("%d entries of running streams never came to Redis: %w", n, err)
	} else {
		err = nil
	}
	return errors.Join(err, s.far.Close(), s.near.Close())
}

func (s *Spread) left() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.by {
		if !c.over {
			n += c.appended - c.w.n
		}
	}
	return n
}

// Open begins a stream in memory; see relay.Log.
func (s *Spread) Open(ctx context.Context, stream string, head []byte) (relay.Position, error) {
	p, err := s.near.Open(ctx, stream, head)
	if err != nil {
		return p, err
	}
	c := &copied{w: &writer{stream: stream, head: append([]byte(nil), head...), epoch: p.Epoch, mode: "r", behind: "1"}, verify: true, touched: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by[stream] = c
	s.makeRoom()
	c.followed = s.wait > 0 || len(s.present[stream]) > 0
	s.enqueue(c, true)
	return p, nil
}

// enqueue has a stream copied. s.mu is held.
func (s *Spread) enqueue(c *copied, now bool) {
	switch {
	case c.over || c.queued && (c.urgent || !now):
		return
	case now:
		s.soon = append(s.soon, c)
		s.wake()
	default:
		s.later = append(s.later, c)
	}
	c.queued, c.urgent = true, now
}

func (s *Spread) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// Append adds an entry in memory; see relay.Log.
func (s *Spread) Append(ctx context.Context, stream string, e relay.Entry) (relay.Position, error) {
	p, err := s.near.Append(ctx, stream, e)
	if err != nil {
		return p, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.by[stream]
	if c == nil || c.w.epoch != p.Epoch || c.over {
		if s.wait > 0 {
			return p, fmt.Errorf("stream %s: %w", stream, relay.ErrFenced)
		}
		return p, nil // it was given up, and that was told
	}
	c.appended, c.ended = p.Offset, e.Terminal
	c.pending += int64(len(e.Frame))
	s.pending += int64(len(e.Frame))
	s.enqueue(c, c.followed || e.Terminal)
	if s.wait > 0 {
		return p, s.waitFor(ctx, c)
	}
	return p, nil
}

// waitFor waits for room. s.mu is held, and given up in between.
func (s *Spread) waitFor(ctx context.Context, c *copied) error {
	for {
		away, _ := s.far.state.lasts()
		if away > s.far.o.Outage {
			return fmt.Errorf("stream %s: %w", c.w.stream, relay.ErrDown)
		}
		if c.pending <= s.wait || c.over {
			return nil
		}
		if c.room == nil {
			c.room = make(chan struct{})
		}
		room := c.room
		s.mu.Unlock()
		t := time.NewTimer(s.far.o.Check)
		select {
		case <-room:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		s.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// After gives the entries after a position: of the memory where it has them,
// else of Redis; see relay.Log.
func (s *Spread) After(ctx context.Context, stream string, p relay.Position) iter.Seq2[relay.Entry, error] {
	state, err := s.near.Stat(ctx, stream)
	switch {
	case err != nil:
		return s.far.After(ctx, stream, p)
	case p.Epoch != "" && p.Epoch != state.Last.Epoch, p.Offset >= state.First.Offset, p.Offset < 0, !s.far.Up():
		return s.near.After(ctx, stream, p)
	}
	return func(yield func(relay.Entry, error) bool) {
		for e, err := range s.far.After(ctx, stream, p) { // what the memory has forgotten
			if err != nil {
				break // the memory says it more exactly
			}
			if p = e.Position; !yield(e, nil) || e.Terminal {
				return
			}
			if state, err := s.near.Stat(ctx, stream); err != nil || p.Offset >= state.First.Offset {
				break
			}
		}
		for e, err := range s.near.After(ctx, stream, p) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Stat says what is held of a stream; see relay.Shared.
func (s *Spread) Stat(ctx context.Context, stream string) (relay.State, error) {
	if state, err := s.near.Stat(ctx, stream); err == nil {
		return state, nil
	}
	return s.far.Stat(ctx, stream)
}

// Drop forgets a stream at once here, and soon in Redis; see relay.Log.
func (s *Spread) Drop(ctx context.Context, stream string) error {
	s.mu.Lock()
	c := s.by[stream]
	if c != nil {
		s.finish(c)
		s.words = append(s.words, word{stream: stream})
		s.wake()
	}
	s.mu.Unlock()
	err := s.near.Drop(ctx, stream)
	if c == nil {
		err = errors.Join(err, s.far.Drop(ctx, stream)) // of another instance, or copied long ago
	}
	return err
}

// finish takes a stream off the list. s.mu is held.
func (s *Spread) finish(c *copied) {
	c.over = true
	s.pending -= c.pending
	c.pending = 0
	if s.by[c.w.stream] == c {
		delete(s.by, c.w.stream)
	}
	c.tell()
}

// makeRoom keeps what Redis has of this instance within its number of streams:
// those that ended longest ago go. s.mu is held.
func (s *Spread) makeRoom() {
	for len(s.past) > 0 {
		over := time.Since(s.past[0].at) > s.far.o.TTL
		if !over && len(s.by)+len(s.past) <= s.far.o.Streams {
			return
		}
		if stream := s.past[0].stream; !over && s.by[stream] == nil {
			s.words = append(s.words, word{stream: stream})
			s.wake()
		}
		s.past = s.past[1:]
	}
	s.past = nil
}

// tell wakes who waits for room. Spread.mu is held.
func (c *copied) tell() {
	if c.room != nil {
		close(c.room)
		c.room = nil
	}
}

// Flush waits until everything that was appended before is in Redis; it is
// relay.ErrDown where Redis does not take it.
func (s *Spread) Flush(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case s.barriers <- done:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.far.ctx.Done():
		return errClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Usage is how many streams are on their way to Redis, and how many bytes.
func (s *Spread) Usage() (streams int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.by), s.pending
}
