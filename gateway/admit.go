package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// gate holds the number of requests in flight to the limits. Those that find
// no place wait in a bounded queue, first come first served.
type gate struct {
	l Limits

	mu       sync.Mutex
	active   int
	perRoute map[string]int // by path: a route of a new configuration goes on with the count of the old
	perKey   map[principal]int
	waiting  []*waiter
	empty    chan struct{} // closed when nothing is in flight; nil: nobody waits for that
}

// waiter is a request that was let in: it has its place, or its turn in the queue.
type waiter struct {
	route *route
	key   principal
	in    chan struct{} // closed once it has its place; nil: it had it at once
}

// refusal is why a request got no place.
type refusal struct {
	reason string // full, wait, per_route, per_key, gone
	status int
	text   string
}

func newGate(l Limits) *gate {
	return &gate{l: l, perRoute: map[string]int{}, perKey: map[principal]int{}}
}

// join takes a place, or a turn in the queue for one, or is refused at once.
// Whoever is let in must leave when its work is done, or give up before that.
func (g *gate) join(r *route, key principal) (*waiter, *refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &waiter{route: r, key: key}
	if g.full(r, key) == "" && len(g.waiting) == 0 {
		g.take(r, key)
		return w, nil
	}
	if len(g.waiting) >= g.l.Queue || g.l.QueueWait <= 0 {
		return nil, g.refuse(r, key, "full")
	}
	w.in = make(chan struct{})
	g.waiting = append(g.waiting, w)
	g.next() // where only others' limits keep those before it waiting
	return w, nil
}

// wait waits for the place, as long as the limits allow. Who is refused has
// left the queue.
func (g *gate) wait(ctx context.Context, w *waiter) *refusal {
	if w.in == nil {
		return nil
	}
	g.mu.Lock()
	most := g.l.QueueWait
	g.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	reason := "wait"
	select {
	case <-w.in:
		return nil
	case <-ctx.Done():
		reason = "gone"
	case <-timer.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unqueue(w) {
		return g.refuse(w.route, w.key, reason)
	}
	return nil // it got its place in the same moment
}

// unqueue takes a turn in the queue back; false where it has become a place.
func (g *gate) unqueue(w *waiter) bool {
	i := slices.Index(g.waiting, w)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// giveUp leaves, wherever the request has got to.
func (g *gate) giveUp(w *waiter) {
	g.mu.Lock()
	queued := g.unqueue(w)
	g.mu.Unlock()
	if !queued {
		g.leave(w.route, w.key)
	}
}

func (g *gate) refuse(r *route, key principal, reason string) *refusal {
	limit := g.full(r, key)
	if limit == "per_key" {
		return &refusal{"per_key", 429, fmt.Sprintf("this key has %d requests in flight, as many as it may; try again later", g.l.PerKey)}
	}
	if limit == "per_route" && reason != "gone" {
		reason = limit
	}
	return &refusal{reason, 503, "the gateway has as many requests in flight as it may; try again later"}
}

// full names the limit that keeps a request out, "" for none.
func (g *gate) full(r *route, key principal) string {
	switch {
	case g.l.PerKey > 0 && g.perKey[key] >= g.l.PerKey:
		return "per_key"
	case g.l.PerRoute > 0 && g.perRoute[r.Path] >= g.l.PerRoute:
		return "per_route"
	case g.l.Streams > 0 && g.active >= g.l.Streams:
		return "streams"
	}
	return ""
}

func (g *gate) take(r *route, key principal) {
	g.active++
	g.perRoute[r.Path]++
	g.perKey[key]++
}

// leave gives a place back and lets the next in.
func (g *gate) leave(r *route, key principal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	if g.perRoute[r.Path]--; g.perRoute[r.Path] == 0 {
		delete(g.perRoute, r.Path)
	}
	if g.perKey[key]--; g.perKey[key] == 0 {
		delete(g.perKey, key)
	}
	g.next()
	if g.active == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// next lets in, in their order, those who wait and whom no limit keeps out.
func (g *gate) next() {
	kept := g.waiting[:0]
	for _, w := range g.waiting {
		if g.full(w.route, w.key) == "" {
			g.take(w.route, w.key)
			close(w.in)
		} else {
			kept = append(kept, w)
		}
	}
	clear(g.waiting[len(kept):])
	g.waiting = kept
}

// limit puts other limits in force. Those in flight keep their places, and count
// in the new limits; whoever waits may get in by them.
func (g *gate) limit(l Limits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.l = l
	g.next()
}

// count is how many are in flight.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.active
}

// idle waits until nothing is in flight.
func (g *gate) idle(ctx context.Context) error {
	g.mu.Lock()
	if g.active == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d requests were still in flight: %w", g.count(), context.Cause(ctx))
	}
}
