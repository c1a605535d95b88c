package load

import (
	"sync"
	"time"
)

// arrival is one request that is due.
type arrival struct {
	phase     int
	index     int       // in the whole schedule of the phase, over all shards
	number    int       // in the run
	scheduled time.Time // zero: there is no schedule
	released  time.Time // when the pacer let it go
	warmup    bool
	queued    bool
	scenario  int
	lengths   traced
}

// admission says what becomes of an arrival.
type admission int

const (
	admitted admission = iota
	full               // the plan's limit: dropped
	short              // the machine's limit: our own drop
	waiting            // in the queue
)

// gate keeps count of the streams in flight and holds what waits for a place.
type gate struct {
	mu       sync.Mutex
	inFlight int
	peak     int
	own      int // the most streams this machine can have; 0 = not known
	limit    int // the phase's; 0 = none
	queue    []*arrival
}

// enter asks for a place. The int is how many others are in flight.
func (g *gate) enter(a *arrival, limit int, onFull string) (admission, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	switch {
	case limit > 0 && g.inFlight >= limit && onFull == Queue:
		a.queued = true
		g.queue = append(g.queue, a)
		return waiting, g.inFlight
	case limit > 0 && g.inFlight >= limit:
		return full, g.inFlight
	case g.own > 0 && g.inFlight >= g.own:
		return short, g.inFlight
	}
	return admitted, g.take()
}

func (g *gate) take() (others int) {
	others = g.inFlight
	g.inFlight++
	g.peak = max(g.peak, g.inFlight)
	return others
}

// leave gives a place back, and to the first that waits for one.
func (g *gate) leave() (next *arrival, others int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	if len(g.queue) == 0 || g.limit > 0 && g.inFlight >= g.limit {
		return nil, 0, false
	}
	next = g.queue[0]
	g.queue[0] = nil
	g.queue = g.queue[1:]
	return next, g.take(), true
}

// abandon empties the queue.
func (g *gate) abandon() []*arrival {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := g.queue
	g.queue = nil
	return left
}

// takePeak is the most there were at once since it was last asked.
func (g *gate) takePeak() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.peak
	g.peak = g.inFlight
	return p
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight
}
