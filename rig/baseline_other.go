//go:build !linux

package rig

import (
	"context"
	"errors"
)

// bareLoop needs epoll.
func bareLoop(context.Context, string, []string) (int, error) {
	return 0, errors.New("the baseline is an epoll loop and runs on Linux only")
}
