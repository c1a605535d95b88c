//go:build unix

package gateway

import "syscall"

// reservedDescriptors are those that are not for streams: listeners, logs,
// the store, the runtime.
const reservedDescriptors = 64

// Descriptors is this process's limit on open files, and how many streams that
// allows: each has a connection to its client and one to its upstream. ok is
// false where the system does not say.
func Descriptors() (limit, streams uint64, ok bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, 0, false
	}
	limit = uint64(l.Cur) //nolint:unconvert // int64 on some systems
	if limit > reservedDescriptors {
		streams = (limit - reservedDescriptors) / 2
	}
	return limit, streams, true
}
