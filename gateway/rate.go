package gateway

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rates hold every key to its output rate, over all of its streams. An event
// that is over it waits in the pump, which reads no further meanwhile: nothing
// is cut, nothing gathers, and in the end the service waits.
type rates struct {
	mu    sync.Mutex
	limit rate.Limit
	burst int
	key   map[principal]*keyRate
}

type keyRate struct {
	*rate.Limiter
	streams int
}

func newRates(c OutputRate) *rates {
	r := &rates{key: map[principal]*keyRate{}}
	r.limit, r.burst = c.bucket()
	return r
}

// limited reports whether there is a limit.
func (r OutputRate) limited() bool { return r.TokensPerSecond > 0 }

func (r OutputRate) bucket() (rate.Limit, int) {
	switch {
	case !r.limited():
		return rate.Inf, 1
	case r.Burst > 0:
		return rate.Limit(r.TokensPerSecond), r.Burst
	}
	return rate.Limit(r.TokensPerSecond), max(1, int(math.Ceil(r.TokensPerSecond)))
}

// set puts another limit in force, for streams that run too. What keys have left
// of the burst, or owe, they keep.
func (r *rates) set(c OutputRate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit, burst := c.bucket()
	if limit == r.limit && burst == r.burst {
		return
	}
	r.limit, r.burst = limit, burst
	now := time.Now()
	for _, k := range r.key {
		k.SetLimitAt(now, limit)
		k.SetBurstAt(now, burst)
	}
}

// manyKeys is how many keys are remembered before those that owe nothing are
// forgotten.
const manyKeys = 1024

// enter is the rate of a key that has one stream more; leave must follow.
func (r *rates) enter(p principal) *keyRate {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.key) >= manyKeys {
		r.forget(time.Now())
	}
	k := r.key[p]
	if k == nil {
		k = &keyRate{Limiter: rate.NewLimiter(r.limit, r.burst)}
		r.key[p] = k
	}
	k.streams++
	return k
}

func (r *rates) leave(k *keyRate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.streams--
}

// forget drops keys without streams whose rate is as a new one's.
func (r *rates) forget(now time.Time) {
	for p, k := range r.key {
		if k.streams == 0 && k.TokensAt(now) >= float64(r.burst) {
			delete(r.key, p)
		}
	}
}

// take takes tokens, or owes them, and returns how long to wait.
func (k *keyRate) take(n int, now time.Time) (wait time.Duration) {
	for n > 0 {
		part := min(n, k.Burst())
		wait = k.ReserveN(now, part).DelayFrom(now)
		n -= part
	}
	return wait
}

// meter holds one stream to the rate of its key; nil: there is none.
type meter struct {
	s     *session
	rates *rates
	key   *keyRate
	spoke bool
}

func newMeter(s *session) *meter {
	if !s.x.g.c.Limits.OutputPerKey.limited() || !s.x.ask.streamed {
		return nil
	}
	return &meter{s: s, rates: s.x.g.rates, key: s.x.g.rates.enter(s.x.id.principal)}
}

// waitSlice is how often the clocks are told that a wait is the gateway's own.
const waitSlice = 200 * time.Millisecond

// wait holds an event until its key may have it; the first output never. Where
// the protocol does not count its tokens, it counts as one: it was not empty.
func (m *meter) wait(l *load) {
	n := max(l.tokens, l.events)
	if m == nil || n == 0 {
		return
	}
	d := m.key.take(n, time.Now())
	if !m.spoke {
		m.spoke = true
		return
	}
	if d <= 0 {
		return
	}
	s := m.s
	s.x.g.see.Limited(s.x.route.Path, d)
	for d > 0 && s.ctx.Err() == nil {
		part := min(d, waitSlice)
		t := time.NewTimer(part)
		select {
		case <-s.ctx.Done():
		case now := <-t.C:
			s.clock.excuse(now, part)
		}
		t.Stop()
		d -= part
	}
}

// leave says that the stream takes nothing more.
func (m *meter) leave() {
	if m != nil {
		m.rates.leave(m.key)
	}
}

// excuse tells that the upstream was not silent, nor slow: it was not read.
func (c *clocks) excuse(now time.Time, waited time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress, c.window, c.tokens = now, now, 0
	if !c.ends.IsZero() {
		c.ends = c.ends.Add(waited)
	}
}
