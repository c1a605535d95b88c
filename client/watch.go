package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// errSilent says why a connection was given up.
var errSilent = errors.New("the connection brought nothing for as long as it may be silent")

// watch breaks a connection that is silent for too long, where its caller wants
// that.
type watch struct {
	silence time.Duration // 0 = never
	timer   *time.Timer
	fired   atomic.Bool
}

// newWatch is not running until something was heard.
func newWatch(silence time.Duration, cancel context.CancelCauseFunc) *watch {
	w := &watch{silence: silence}
	if silence > 0 {
		w.timer = time.AfterFunc(silence, func() {
			w.fired.Store(true)
			cancel(errSilent)
		})
		w.timer.Stop()
	}
	return w
}

func (w *watch) heard() {
	if w.timer != nil {
		w.timer.Reset(w.silence)
	}
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// cause is err, or that the watch broke the connection.
func (w *watch) cause(err error) error {
	if w.fired.Load() && !final(err) {
		return errSilent
	}
	return err
}
