//go:build !unix

package gateway

// Descriptors is not known on this system.
func Descriptors() (limit, streams uint64, ok bool) { return 0, 0, false }
