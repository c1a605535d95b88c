package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"weir/relay"
)

// outage knows whether Redis can be reached.
type outage struct {
	l     *Log
	mu    sync.Mutex
	since time.Time     // when it went away; zero: it is there
	back  chan struct{} // closed when it is back; nil while it is there
	doubt time.Time     // when it came back, or was found to have lost its content
}

func (s *outage) init(l *Log) { s.l = l }

// down notes that an exchange failed; the first of an outage is told.
func (s *outage) down(err error) {
	s.mu.Lock()
	first := s.since.IsZero()
	if first {
		s.since, s.back = time.Now(), make(chan struct{})
	}
	s.mu.Unlock()
	if first {
		s.l.o.Observer.RelayUp(false)
		s.l.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "redis is away: requests for workers are refused; other streams go on, and those that begin now cannot be resumed elsewhere",
			slog.String("redis", s.l.where.String()), slog.String("error", err.Error()))
	}
}

// up notes that one succeeded, and reports whether that ends an outage.
func (s *outage) up() (ended bool) {
	s.mu.Lock()
	since := s.since
	if !since.IsZero() {
		s.since, s.doubt = time.Time{}, time.Now()
		close(s.back)
	}
	s.mu.Unlock()
	if ended = !since.IsZero(); ended {
		s.l.o.Observer.RelayUp(true)
		s.l.o.Logger.LogAttrs(context.Background(), slog.LevelInfo, "redis is back", slog.String("redis", s.l.where.String()),
			slog.Duration("after", time.Since(since)))
	}
	return ended
}

// lasts is how long Redis has been away; 0: it is there. back is closed when it
// is again.
func (s *outage) lasts() (d time.Duration, back <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return 0, nil
	}
	return max(time.Since(s.since), 1), s.back
}

// lost notes that Redis lost its content.
func (s *outage) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubt = time.Now()
}

// absent is the error of a stream that is not in Redis: gone, or not there yet,
// since those that write streams need a moment to bring back what they have.
// That is told by the time since Redis came back and by this instance's lease,
// which vanishes with everything else before anybody has noticed: lost.
func (l *Log) absent(lost bool) error {
	if lost {
		l.lease.wake()
	}
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	if lost || !l.state.doubt.IsZero() && time.Since(l.state.doubt) < l.o.Lease {
		return fmt.Errorf("%w: what it lost is being brought back", relay.ErrDown)
	}
	return relay.ErrGone
}

// holds reports whether this instance has its lease. To find a lease lost, it is
// asked before Redis is: one that is taken in between was not there to be found.
func (l *Log) holds() bool {
	l.lease.mu.Lock()
	defer l.lease.mu.Unlock()
	return l.lease.held
}

// bears reports whether Redis has not been away for longer than is borne.
func (l *Log) bears() bool {
	away, _ := l.state.lasts()
	return away <= l.o.Outage
}

// Up reports whether Redis could be reached when it was last asked, which is
// at least every third of a lease.
func (l *Log) Up() bool {
	d, _ := l.state.lasts()
	return d == 0
}

// failed is the error of an exchange: the caller's context's cause, what Redis
// answered, or ErrDown where it did not.
func (l *Log) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if d, ok := ctx.Deadline(); ok && time.Until(d) < 10*time.Millisecond {
		<-ctx.Done() // a dialler keeps to a deadline a little before the context does: the caller's haste is no outage
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case l.ctx.Err() != nil:
		return errClosed
	}
	var answer goredis.Error
	if errors.As(err, &answer) && !notNow(err) {
		return fmt.Errorf("redis refused: %w", err)
	}
	l.state.down(err)
	return fmt.Errorf("%w: %w", relay.ErrDown, err)
}

// notNow reports whether an answer of Redis means that it cannot work at
// present: it loads, has no master, is full.
func notNow(err error) bool {
	for _, prefix := range []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "OOM", "BUSY", "NOREPLICAS", "MISCONF", "NOAUTH", "WRONGPASS", "NOPERM", "ERR max number of clients"} {
		if goredis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

func isDown(err error) bool { return errors.Is(err, relay.ErrDown) }

// patience is how long one caller bears that Redis is away.
type patience struct {
	l     *Log
	since time.Time
	pause time.Duration
}

func (l *Log) patience() *patience { return &patience{l: l, pause: 10 * time.Millisecond} }

// wait waits before another try; false where the caller waited long enough.
func (p *patience) wait(ctx context.Context) bool {
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	if now.Sub(p.since) > p.l.o.Outage {
		return false
	}
	_, back := p.l.state.lasts()
	t := time.NewTimer(p.pause)
	defer t.Stop()
	p.pause = min(2*p.pause, 500*time.Millisecond)
	select {
	case <-t.C:
	case <-back:
	case <-ctx.Done():
		return false
	case <-p.l.ctx.Done():
		return false
	}
	return true
}
