//go:build !linux

package probe

import (
	"io"
	"syscall"

	"weir/stream"
)

// receiver is not needed where the kernel's receive time is not to be had.
type receiver struct{}

func (*receiver) attach(*sock) {}

func (s *sock) fill() error { return s.fillPlain() }

func askStamps(_, _ string, _ syscall.RawConn) error { return nil }

func (s *sock) outOfOrder() stream.Maybe[int] { return stream.None[int]() }

// idle cannot be seen here; a connection that was closed shows at its next use.
func (s *sock) idle() bool { return true }

func keepStamping() io.Closer { return nil }
