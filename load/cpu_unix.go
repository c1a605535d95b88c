//go:build unix

package load

import (
	"syscall"
	"time"
)

// CPUTime is the CPU time this process has used, in user and kernel mode.
func CPUTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
