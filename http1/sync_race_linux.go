//go:build race

package http1

import "syscall"

// synced tells the race detector what it cannot see through a raw system call:
// what a peer in this process did before it wrote came before this read. A read
// of no bytes carries the edge that package syscall keeps for its own reads.
func synced(fd uintptr) { _, _ = syscall.Read(int(fd), nil) }
