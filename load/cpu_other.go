//go:build !unix

package load

import "time"

// CPUTime is not known here.
func CPUTime() (time.Duration, bool) { return 0, false }
