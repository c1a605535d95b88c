package gateway

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// quickConn writes without telling the scheduler: a write to a socket that does
// not block is over within microseconds, and to prepare for one that does costs
// a seventh of what an event costs, above all by waking the runtime's monitor.
// It knows the descriptor itself, since to look it up costs again.
type quickConn struct {
	*net.TCPConn
	raw syscall.RawConn
	try func(fd uintptr) bool

	turn  sync.Mutex // of one write, with these:
	rest  []byte
	errno syscall.Errno

	open sync.Mutex // while it is held, the descriptor is not closed, nor its number given to another
	fd   int        // -1: closed

	until atomic.Int64 // write deadline, Unix ns; 0 = none: who does not wait does not meet it
}

// mostQuick bounds what is copied to the kernel unseen by the scheduler.
const mostQuick = 64 << 10

func quick(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	q := &quickConn{TCPConn: tcp, raw: raw, fd: -1}
	q.try = q.attempt
	if raw.Control(func(fd uintptr) { q.fd = int(fd) }) != nil { //nolint:gosec // a descriptor is an int
		return c
	}
	return q
}

// Write implements net.Conn.
func (c *quickConn) Write(p []byte) (int, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	if len(p) == 0 || len(p) > mostQuick {
		return c.TCPConn.Write(p)
	}
	c.rest, c.errno = p, 0
	var err error
	if !c.now() {
		err = c.raw.Write(c.try)
	}
	n := len(p) - len(c.rest)
	c.rest = nil
	if err == nil && c.errno != 0 {
		err = &net.OpError{Op: "write", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("write", c.errno)}
	}
	if err == nil && n < len(p) { // it cannot be: the attempt goes on until all is written
		err = io.ErrShortWrite
	}
	return n, err
}

// now writes what the socket takes now; false: some is left, or it is closed.
func (c *quickConn) now() bool {
	c.open.Lock()
	defer c.open.Unlock()
	return c.fd >= 0 && !c.late() && c.attempt(uintptr(c.fd))
}

// late reports whether the write deadline has passed.
func (c *quickConn) late() bool {
	d := c.until.Load()
	return d != 0 && time.Now().UnixNano() >= d
}

// SetDeadline implements net.Conn.
func (c *quickConn) SetDeadline(t time.Time) error {
	c.note(t)
	return c.TCPConn.SetDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *quickConn) SetWriteDeadline(t time.Time) error {
	c.note(t)
	return c.TCPConn.SetWriteDeadline(t)
}

func (c *quickConn) note(t time.Time) {
	var d int64
	if !t.IsZero() {
		d = t.UnixNano()
	}
	c.until.Store(d)
}

// Close implements net.Conn.
func (c *quickConn) Close() error {
	c.open.Lock()
	c.fd = -1
	c.open.Unlock()
	return c.TCPConn.Close()
}

// attempt writes what the socket takes; false: wait until it takes more.
func (c *quickConn) attempt(fd uintptr) bool {
	writing(fd)
	for len(c.rest) > 0 {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&c.rest[0])), uintptr(len(c.rest)), unix.MSG_NOSIGNAL, 0, 0)
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			return false
		case errno != 0:
			c.errno = errno
			return true
		default:
			c.rest = c.rest[n:]
		}
	}
	return true
}
