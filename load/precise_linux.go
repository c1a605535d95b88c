package load

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// spin is how long before the moment the precise sleeper stops sleeping.
const spin = 60 * time.Microsecond

// preciseSleeper sleeps in the kernel, on a thread of its own, to shortly
// before the moment, and looks at the clock until then. Its caller holds the
// thread. Yielding instead of the short spin would take a whole core from the
// goroutines that read.
type preciseSleeper struct{ slack uintptr }

func newPreciseSleeper() sleeper {
	s := &preciseSleeper{}
	if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err == nil {
		s.slack = uintptr(slack)
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it the kernel adds 50 µs
	return s
}

func (s *preciseSleeper) until(ctx context.Context, t time.Time) bool {
	for {
		d := time.Until(t)
		switch {
		case ctx.Err() != nil:
			return false
		case d <= 0:
			return true
		case d > spin:
			// At most 50 ms at a time, so that an interruption is heard.
			ts := unix.NsecToTimespec(int64(min(d-spin, 50*time.Millisecond)))
			_ = unix.Nanosleep(&ts, nil) // a signal that ends it early only makes the loop turn
		}
	}
}

func (s *preciseSleeper) close() {
	if s.slack > 0 {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, s.slack, 0, 0, 0)
	}
}
