package probe

import (
	"context"
	"sync"
	"time"
)

// ending is how a request is ended from outside, on a carrier whose reads end
// with their context.
type ending struct {
	mu     sync.Mutex
	cancel context.CancelFunc // of the request; nil: none runs
	timer  *time.Timer        // grace
}

// begun is a request that cancel ends.
func (e *ending) begun(cancel context.CancelFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel = cancel
}

// Interrupt implements carrier.
func (e *ending) Interrupt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cancel != nil {
		e.cancel()
	}
}

// after has end called at t, unless the request is over by then.
func (e *ending) after(t time.Time, end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Reset(time.Until(t))
	} else if e.cancel != nil {
		e.timer = time.AfterFunc(time.Until(t), end)
	}
}

// over ends the request.
func (e *ending) over() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
	if e.cancel != nil {
		e.cancel()
		e.cancel = nil
	}
}
