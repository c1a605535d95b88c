//go:build !linux

package http1

import (
	"io"
	"syscall"

	"weir/stream"
)

// message is not needed where reads are net.Conn's.
type message struct{}

func (*message) prepare([]byte) {}

// receiver is not needed where the kernel's receive time is not to be had.
type receiver struct{}

func (*receiver) attach(*Sock) {}

func (s *Sock) fill() error { return s.fillPlain() }

func askStamps(_, _ string, _ syscall.RawConn) error { return nil }

// OutOfOrder cannot be known here.
func (s *Sock) OutOfOrder() stream.Maybe[int] { return stream.None[int]() }

// idle cannot be seen here; a connection that was closed shows at its next use.
func (s *Sock) idle() bool { return true }

// poll would have to wait here.
func (s *Sock) poll() bool { return false }

func keepStamping() io.Closer { return nil }
