package mock

import (
	"context"
	"sync/atomic"
	"time"
)

// gate stops every stream of a server at once. A stopped server does no work:
// what was due while it stood is late by the time it stood.
type gate struct{ state atomic.Pointer[gateState] }

type gateState struct {
	opens chan struct{} // nil while open; closed when it opens again
	total time.Duration // stood so far
}

func newGate() *gate {
	g := &gate{}
	g.state.Store(&gateState{})
	return g
}

// pass waits while the gate is shut and returns how long it has stood in all.
func (g *gate) pass(ctx context.Context) (time.Duration, error) {
	for {
		s := g.state.Load()
		if s.opens == nil {
			return s.total, nil
		}
		select {
		case <-s.opens:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// run shuts the gate for a while at a period until ctx ends.
func (g *gate) run(ctx context.Context, every, hold time.Duration) {
	for sleep(ctx, every-hold) == nil {
		began, total, opens := time.Now(), g.state.Load().total, make(chan struct{})
		g.state.Store(&gateState{opens: opens, total: total})
		err := sleep(ctx, hold)
		g.state.Store(&gateState{total: total + time.Since(began)})
		close(opens)
		if err != nil {
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
