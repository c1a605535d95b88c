package gateway

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// quickConn writes without telling the scheduler: a write to a socket that does
// not block is over within microseconds, and to prepare for one that does costs
// a seventh of what an event costs, above all by waking the runtime's monitor.
type quickConn struct {
	*net.TCPConn
	raw syscall.RawConn
	try func(fd uintptr) bool

	mu    sync.Mutex // of a write, and:
	rest  []byte
	errno syscall.Errno
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
	q := &quickConn{TCPConn: tcp, raw: raw}
	q.try = q.attempt
	return q
}

// Write implements net.Conn.
func (c *quickConn) Write(p []byte) (int, error) {
	if len(p) == 0 || len(p) > mostQuick {
		return c.TCPConn.Write(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest, c.errno = p, 0
	err := c.raw.Write(c.try)
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

// attempt writes what the socket takes; false: wait until it takes more.
func (c *quickConn) attempt(fd uintptr) bool {
	writing(fd)
	for len(c.rest) > 0 {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&c.rest[0])), uintptr(len(c.rest)))
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
