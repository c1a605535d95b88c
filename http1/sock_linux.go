package http1

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/stream"
)

// receiver makes the recvmsg of a TCP socket: a read allocates nothing.
type receiver struct {
	s      *Sock
	raw    syscall.RawConn // nil: not a TCP socket
	try    func(fd uintptr) bool
	waited bool
	n      int
	errno  unix.Errno
}

// message is the argument of recvmsg. It is prepared once, and is the buffer's:
// a stream's own would be fetched into the cache for every event.
type message struct {
	msg     unix.Msghdr
	iov     unix.Iovec
	control [128]byte
}

func (m *message) prepare(room []byte) {
	m.iov.Base = &room[0]
	m.iov.SetLen(len(room))
	m.msg.Iov = &m.iov
	m.msg.SetIovlen(1)
	m.msg.Control = &m.control[0]
}

// stamp is the receive time that came with the recvmsg, Unix ns; 0 = none.
func (m *message) stamp() int64 {
	if m.msg.Flags&unix.MSG_CTRUNC != 0 {
		return 0
	}
	return stampIn(m.control[:m.msg.Controllen])
}

func (r *receiver) attach(s *Sock) {
	r.s = s
	tcp, ok := s.Conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	r.raw, r.try = raw, r.attempt
}

// fill makes one socket read, waiting for it as the deadline allows.
func (s *Sock) fill() error {
	r := &s.rx
	if r.raw == nil {
		return s.fillPlain()
	}
	s.release()
	r.waited = false
	if err := r.raw.Read(r.try); err != nil {
		return err
	}
	switch {
	case r.errno != 0:
		s.release()
		return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("recvmsg", r.errno)}
	case r.n == 0:
		s.release()
		return io.EOF
	}
	s.data = s.buf.room[:r.n]
	return nil
}

// attempt is one recvmsg; false: there was nothing, wait for the socket. The
// call does not block, so the scheduler need not be told of it.
func (r *receiver) attempt(fd uintptr) bool {
	s := r.s
	s.buf = s.lend.get()
	m := &s.buf.message
	for {
		m.msg.SetControllen(len(m.control))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&m.msg)), 0)
		if errno == unix.EAGAIN {
			r.waited = true
			s.release()
			return false
		}
		now := time.Now()
		if errno == unix.EINTR {
			continue
		}
		synced(fd)
		r.n, r.errno = int(n), errno
		kernel := int64(0)
		if errno == 0 {
			kernel = m.stamp()
		}
		s.noteReturn(now, kernel, r.waited)
		return true
	}
}

// stampIn is the software receive time in a control message, Unix ns; 0 where
// there is none. The message is the only one asked for, so it is the first.
func stampIn(control []byte) int64 {
	if len(control) < unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{}))) {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPING {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&control[unix.CmsgLen(0)])).Nano()
}

// askStamps switches receive stamps on, before connect: a segment that comes
// with the handshake's last is stamped too. A kernel that refuses leaves the
// reads unstamped, which the record then says.
func askStamps(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
			unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE)
	})
}

// OutOfOrder is tcpi_rcv_ooopack: segments received out of order so far.
func (s *Sock) OutOfOrder() (n stream.Maybe[int]) {
	if s.rx.raw == nil {
		return n
	}
	_ = s.rx.raw.Control(func(fd uintptr) { // a closed socket knows nothing
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			n = stream.Some(int(info.Rcv_ooopack))
		}
	})
	return n
}

// idle reports whether an unused connection is still good: open, and with
// nothing to read.
func (s *Sock) idle() bool {
	if s.rx.raw == nil {
		return true
	}
	good := false
	var b [1]byte
	err := s.rx.raw.Control(func(fd uintptr) {
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		good = err == unix.EAGAIN
	})
	return good && err == nil
}

// poll makes one socket read of an unused connection, without waiting; false
// where it brought nothing.
func (s *Sock) poll() bool {
	r := &s.rx
	if r.raw == nil {
		return false
	}
	s.release()
	got := false
	if r.raw.Control(func(fd uintptr) { got = r.attempt(fd) }) != nil || !got || r.errno != 0 || r.n == 0 {
		s.release()
		return false
	}
	s.data = s.buf.room[:r.n]
	return true
}

// keepStamping holds a socket with receive stamps open for the client's life:
// the kernel stamps packets only while some socket asks for it, and switches
// that on a little after the first did. It returns once a packet was stamped,
// or after a short while: the records then say what they miss.
func keepStamping() io.Closer {
	p, err := (&net.ListenConfig{Control: askStamps}).ListenPacket(context.Background(), "udp", "127.0.0.1:0")
	if err != nil {
		return nil
	}
	u := p.(*net.UDPConn)
	for start := time.Now(); !stampedOnce(u) && time.Since(start) < maxAwake; {
		time.Sleep(time.Millisecond)
	}
	return u
}

// maxAwake is the most a client waits for the kernel to begin stamping.
const maxAwake = 100 * time.Millisecond

// stampedOnce sends the socket a datagram and reports whether it came stamped.
func stampedOnce(u *net.UDPConn) bool {
	_ = u.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := u.WriteTo([]byte{0}, u.LocalAddr()); err != nil {
		return false
	}
	var b [1]byte
	var control [128]byte
	_, n, _, _, err := u.ReadMsgUDP(b[:], control[:])
	if err != nil {
		return false
	}
	return stampIn(control[:n]) != 0
}
