//go:build !race

package http1

// synced is for the race detector only.
func synced(uintptr) {}
