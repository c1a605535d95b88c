package probe

import (
	"io"
	"net"
	"sync"
	"time"
)

// stamp is when one socket read returned, and what is known of its wait.
type stamp struct {
	app    time.Time     // taken right after the system call, before anything else
	kernel int64         // receive time of the newest byte, Unix ns; 0 = none
	waited bool          // there was nothing to read at first
	since  time.Duration // its return minus the return of the read before
}

// readSize is the most one socket read takes: a flush of 12 KB is one read.
const readSize = 16 << 10

// buffers lends read buffers, so that a stream which waits holds none.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *[readSize]byte {
	if p, ok := b.pool.Get().(*[readSize]byte); ok {
		return p
	}
	return new([readSize]byte)
}

func (b *buffers) put(p *[readSize]byte) { b.pool.Put(p) }

// sock is a connection that stamps its reads. fill makes one socket read and
// leaves its bytes in data; Read serves them to a layer above (TLS, HTTP/2).
// Reads belong to one goroutine.
type sock struct {
	net.Conn
	lend *buffers
	buf  *[readSize]byte // lent while data is not empty
	data []byte
	last stamp
	dry  error // what Read answers when data is served, instead of reading the socket; nil: it reads
	rx   receiver
}

func newSock(c net.Conn, lend *buffers) *sock {
	s := &sock{Conn: c, lend: lend}
	s.rx.attach(s)
	return s
}

// take hands over what the last fill brought; valid until the next fill.
func (s *sock) take() []byte {
	p := s.data
	s.data = nil
	return p
}

// release gives the buffer back; data taken from it is no longer valid.
func (s *sock) release() {
	s.data = nil
	if s.buf != nil {
		s.lend.put(s.buf)
		s.buf = nil
	}
}

// noteReturn records the stamp of a read that returned now.
func (s *sock) noteReturn(now time.Time, kernel int64, waited bool) {
	var since time.Duration
	if !s.last.app.IsZero() {
		since = now.Sub(s.last.app)
	}
	s.last = stamp{app: now, kernel: kernel, waited: waited, since: since}
}

// Read implements net.Conn for the layer above.
func (s *sock) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		if s.dry != nil {
			return 0, s.dry
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	if len(s.data) == 0 {
		s.release()
	}
	return n, nil
}

// fillPlain is the read of a connection whose system calls cannot be seen.
func (s *sock) fillPlain() error {
	s.release()
	s.buf = s.lend.get()
	n, err := s.Conn.Read(s.buf[:])
	s.noteReturn(time.Now(), 0, true)
	if n > 0 {
		s.data = s.buf[:n]
		return nil
	}
	s.release()
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// dryError tells crypto/tls that its transport has nothing now. It is temporary,
// so that the connection stays good and the next read goes on where it stood.
type dryError struct{}

func (dryError) Error() string   { return "no more bytes in this read" }
func (dryError) Timeout() bool   { return true }
func (dryError) Temporary() bool { return true }
