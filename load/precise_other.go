//go:build !linux

package load

// newPreciseSleeper is the runtime's timer here.
func newPreciseSleeper() sleeper { return newTimerSleeper() }
