package http1

import (
	"io"
	"net"
	"sync"
	"time"
)

// Stamp is when one socket read returned, and what is known of its wait.
type Stamp struct {
	App    time.Time     // taken right after the system call, before anything else
	Kernel int64         // receive time of the newest byte, Unix ns; 0 = none
	Waited bool          // there was nothing to read at first
	Since  time.Duration // its return minus the return of the read before
}

// ReadSize is the most one socket read takes: a flush of 12 KB is one read.
const ReadSize = 16 << 10

// buffer is what one socket read needs.
type buffer struct {
	message // what the system call is told
	room    [ReadSize]byte
}

// buffers lends them, so that a stream which waits holds none, and one whose
// event comes finds it in the processor's cache.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *buffer {
	if p, ok := b.pool.Get().(*buffer); ok {
		return p
	}
	p := new(buffer)
	p.prepare(p.room[:])
	return p
}

func (b *buffers) put(p *buffer) { b.pool.Put(p) }

// Sock is a connection that stamps its reads. fill makes one socket read and
// leaves its bytes in data; Read serves them to a layer above (TLS, HTTP/2).
// Reads belong to one goroutine.
type Sock struct {
	net.Conn
	lend *buffers
	buf  *buffer // lent while data is not empty
	data []byte
	last Stamp
	dry  error // what Read answers when data is served, instead of reading the socket; nil: it reads
	rx   receiver
}

func newSock(c net.Conn, lend *buffers) *Sock {
	s := &Sock{Conn: c, lend: lend}
	s.rx.attach(s)
	return s
}

// take hands over what the last fill brought; valid until the next fill.
func (s *Sock) take() []byte {
	p := s.data
	s.data = nil
	return p
}

// release gives the buffer back; data taken from it is no longer valid.
func (s *Sock) release() {
	s.data = nil
	if s.buf != nil {
		s.lend.put(s.buf)
		s.buf = nil
	}
}

// noteReturn records the stamp of a read that returned now.
func (s *Sock) noteReturn(now time.Time, kernel int64, waited bool) {
	var since time.Duration
	if !s.last.App.IsZero() {
		since = now.Sub(s.last.App)
	}
	s.last = Stamp{App: now, Kernel: kernel, Waited: waited, Since: since}
}

// Read implements net.Conn for the layer above.
func (s *Sock) Read(p []byte) (int, error) {
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
func (s *Sock) fillPlain() error {
	s.release()
	s.buf = s.lend.get()
	n, err := s.Conn.Read(s.buf.room[:])
	s.noteReturn(time.Now(), 0, true)
	if n > 0 {
		s.data = s.buf.room[:n]
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
