package gateway

import (
	"io"
	"time"

	"weir/http1"
	"weir/stream"
)

// body is an upstream's answer, by what each read brought.
type body interface {
	io.ReadCloser
	// Next waits for the next read that brought bytes, which are valid until the
	// next call. io.EOF may come together with the last. What it returns is never
	// nil.
	Next() (*http1.Arrived, error)
}

// A read of HTTP/2 takes what a few events need, and more for a service that
// is faster than its reader.
const (
	firstRead = 1 << 10
	mostRead  = 32 << 10
)

// plainBody is the body of an answer that net/http reads.
type plainBody struct {
	io.ReadCloser
	buf []byte
}

// Next implements body.
func (b *plainBody) Next() (*http1.Arrived, error) {
	if b.buf == nil {
		b.buf = make([]byte, firstRead)
	}
	n, err := b.Read(b.buf)
	a := &http1.Arrived{Data: b.buf[:n], App: time.Now(), Waited: true}
	if n == len(b.buf) && n < mostRead {
		b.buf = make([]byte, 2*n)
	}
	return a, err
}

// stamps decide which clock a stream's record goes by.
type stamps struct {
	judge   http1.Judge
	direct  *http1.Body // nil: net/http reads
	settled bool
	stamp   stream.Stamp
	why     string
}

// see judges a read and returns how it is to be registered.
func (s *stamps) see(a *http1.Arrived, t0 time.Time) stream.Read {
	d := a.App.Sub(t0)
	r := stream.Read{At: d, App: d, Bytes: len(a.Data), Waited: a.Waited, LagMax: a.Since}
	if s.direct != nil {
		r.Kernel = s.judge.See(a.App, a.Kernel)
	}
	return r
}

// settle decides, once the stream's last read is here and before its
// connection is given back.
func (s *stamps) settle() {
	if s.settled {
		return
	}
	s.settled = true
	if s.direct == nil {
		s.stamp, s.why = stream.StampBody, "HTTP/2 is stamped when its body's read returns"
		return
	}
	s.stamp = stream.StampSocket
	switch n, known := s.direct.Disorder().Get(); {
	case !known:
		s.why = "this system does not say whether segments came out of order"
	case n != 0:
		s.why = "segments came out of order during the stream"
	case s.judge.Why() != "":
		s.why = s.judge.Why()
	default:
		s.stamp = stream.StampKernel
	}
}
