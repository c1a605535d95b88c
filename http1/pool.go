package http1

import (
	"sync"
	"time"
)

// MaxIdle is how long an unused connection is kept: longer, and some relay on
// the way has forgotten it without a word.
const MaxIdle = 90 * time.Second

// Carrier is a connection that a pool can keep.
type Carrier interface {
	Usable() bool // the next request may use it
	Close()
}

// Pool keeps idle connections by what they lead to, newest first. The zero
// value is ready and has no limit.
type Pool[C Carrier] struct {
	Limit int // idle connections for each key; 0 = no limit

	mu     sync.Mutex
	idle   map[string][]idle[C]
	timer  *time.Timer // closes what is idle for too long; nil: nothing is
	closed bool
}

type idle[C Carrier] struct {
	c     C
	since time.Time
}

// Get gives an idle connection that is still good; false where there is none.
func (p *Pool[C]) Get(key string) (c C, ok bool) {
	for {
		i, ok := p.pop(key)
		switch {
		case !ok:
			return c, false
		case time.Since(i.since) < MaxIdle && i.c.Usable():
			return i.c, true
		}
		i.c.Close()
	}
}

func (p *Pool[C]) pop(key string) (i idle[C], ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[key]
	if len(list) == 0 {
		return i, false
	}
	last := len(list) - 1
	i, list[last] = list[last], i
	p.idle[key] = list[:last]
	return i, true
}

// Put keeps a connection for the next request, or closes it where it is of no
// use.
func (p *Pool[C]) Put(key string, c C) {
	if !c.Usable() || !p.keep(key, c) {
		c.Close()
	}
}

func (p *Pool[C]) keep(key string, c C) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.Limit > 0 && len(p.idle[key]) >= p.Limit {
		return false
	}
	if p.idle == nil {
		p.idle = map[string][]idle[C]{}
	}
	p.idle[key] = append(p.idle[key], idle[C]{c, time.Now()})
	if p.timer == nil {
		p.timer = time.AfterFunc(MaxIdle, p.expire)
	}
	return true
}

// expire closes what has been idle for too long, and looks again later.
func (p *Pool[C]) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, list := range p.idle {
		n := 0 // the oldest come first
		for n < len(list) && time.Since(list[n].since) >= MaxIdle {
			list[n].c.Close()
			n++
		}
		p.idle[key] = append(list[:0:0], list[n:]...)
		if n == len(list) {
			delete(p.idle, key)
		}
	}
	p.timer = nil
	if len(p.idle) > 0 {
		p.timer = time.AfterFunc(MaxIdle/2, p.expire)
	}
}

// Close closes what is idle, and what is put from now on.
func (p *Pool[C]) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, list := range p.idle {
		for _, i := range list {
			i.c.Close()
		}
	}
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
}
