//go:build !race

package probe

// synced is for the race detector only.
func synced(uintptr) {}
