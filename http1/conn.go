package http1

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"weir/stream"
)

// Conn is an HTTP/1.1 connection that carries one request at a time. Its
// methods belong to one goroutine, except Interrupt and SetDeadline.
type Conn struct {
	s      *Sock
	tls    *tls.Conn // nil: plain
	left   []byte    // body bytes that came in the read of the head
	frame  framing
	waited bool // a read since the last body bytes had to wait
	broken bool
	got    Arrived

	hasBody   bool
	headLimit int
	clear     []byte // TLS: what the last socket read released
	tlsName   string
	wrote     time.Time

	mu      sync.Mutex // deadlines against Interrupt
	stopped bool
}

// Window is the time a request has, and where its phases are noted.
type Window struct {
	T0       time.Time
	Deadline time.Time     // zero = none
	Head     time.Duration // from request written to the response's head; 0 = no limit of its own
	Beside   bool          // a large request may be answered before it is written whole
	Phases   *stream.Phases
	HeadAt   Stamp // of the read that completed the head; zero where reads are not seen
}

// Arrived is what one read brought, valid until the next.
type Arrived struct {
	Data   []byte
	App    time.Time
	Kernel int64 // Unix ns; 0 = none
	Waited bool
	Since  stream.Maybe[time.Duration] // of a read that did not wait: how long after the read before
}

// NewConn speaks HTTP/1.1 on a socket, within TLS where t is not nil. A head
// larger than headLimit bytes is refused.
func NewConn(s *Sock, t *tls.Conn, headLimit int) *Conn {
	c := &Conn{s: s, tls: t, headLimit: headLimit}
	if t != nil {
		c.tlsName = tls.VersionName(t.ConnectionState().Version)
	}
	return c
}

// Send writes the request and reads the response's head, whose body is not to
// be touched: Next reads it. It fills in the phases after connect.
func (c *Conn) Send(req *http.Request, w *Window) (*http.Response, error) {
	c.begin(w)
	var b bytes.Buffer
	if err := req.Write(&b); err != nil {
		c.broken = true
		return nil, &PhaseError{"write", err}
	}
	if w.Beside && b.Len() > atOnce {
		return c.sendBeside(req, b.Bytes(), w)
	}
	writeErr := c.write(b.Bytes())
	c.wrote = time.Now()
	if writeErr == nil {
		w.Phases.RequestWritten = stream.Some(c.wrote.Sub(w.T0))
	}
	if w.Head > 0 {
		c.SetDeadline(earlier(c.wrote.Add(w.Head), w.Deadline))
	}
	return c.answer(req, w, writeErr)
}

// answer reads the head; writeErr says what became of the request.
func (c *Conn) answer(req *http.Request, w *Window, writeErr error) (*http.Response, error) {
	res, err := c.head(req)
	if err != nil {
		c.broken = true
		if writeErr != nil { // the response would have been the better answer
			return nil, &PhaseError{"write", writeErr}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(w.Deadline) {
			return nil, fmt.Errorf("no response head within %s: %w", w.Head, err)
		}
		return nil, err
	}
	w.HeadAt = c.s.last
	w.Phases.Headers = stream.Some(w.HeadAt.App.Sub(w.T0))
	if w.Head > 0 {
		c.SetDeadline(w.Deadline)
	}
	c.broken = writeErr != nil || res.Close || res.StatusCode == http.StatusSwitchingProtocols
	return res, nil //nolint:nilerr // a write that failed after the server had answered: the answer counts
}

// atOnce is the most that is written before an answer is looked for. What is
// larger may have to wait for a server that answers first and reads later.
const atOnce = 256 << 10

// sendBeside writes the request while the head is read. Where the answer comes
// first, the connection is not used again; closing it ends the write.
func (c *Conn) sendBeside(req *http.Request, request []byte, w *Window) (*http.Response, error) {
	type result struct {
		at  time.Time
		err error
	}
	c.wrote = time.Now() // at the earliest
	done := make(chan result, 1)
	go func() {
		err := c.write(request)
		done <- result{time.Now(), err}
	}()
	res, err := c.answer(req, w, nil)
	select {
	case r := <-done:
		if r.err == nil {
			w.Phases.RequestWritten = stream.Some(r.at.Sub(w.T0))
		} else if c.broken = true; err != nil {
			return nil, &PhaseError{"write", r.err}
		}
	default:
		c.broken = true
	}
	return res, err
}

func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

func (c *Conn) begin(w *Window) {
	c.left, c.waited, c.hasBody, c.frame = nil, false, false, framing{}
	c.SetDeadline(w.Deadline)
}

// SetDeadline sets the time at which reads and writes give up, unless the
// request has been interrupted: such a connection is not used again.
func (c *Conn) SetDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		_ = c.s.SetDeadline(t) // a dead connection shows at its next use
	}
}

// Interrupt makes a blocked Send or Next return at once; any goroutine may
// call it.
func (c *Conn) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	_ = c.s.SetDeadline(time.Unix(1, 0))
}

// write sends the request in one piece, so that no server sees a head without
// its body or waits for Nagle.
func (c *Conn) write(request []byte) error {
	var out io.Writer = c.s.Conn
	if c.tls != nil {
		out = c.tls
	}
	_, err := out.Write(request)
	return err
}

// read makes one socket read and returns the bytes it released, which with TLS
// may be none: a record is readable only once its last byte is here.
func (c *Conn) read() ([]byte, error) {
	if c.tls == nil {
		err := c.s.fill()
		c.waited = c.waited || c.s.last.Waited
		return c.s.take(), err
	}
	if len(c.s.data) == 0 { // else: bytes that came with the handshake's last
		err := c.s.fill()
		c.waited = c.waited || c.s.last.Waited
		if err != nil && err != io.EOF {
			return nil, err
		}
		c.s.dry = err // EOF: only TLS can say whether it cuts a record
	}
	if c.s.dry == nil {
		c.s.dry = dryError{}
	}
	return c.decrypt()
}

// decrypt takes from TLS all that the last socket read released.
func (c *Conn) decrypt() ([]byte, error) {
	if c.clear == nil {
		c.clear = make([]byte, 0, 4<<10)
	}
	c.clear = c.clear[:0]
	for {
		if len(c.clear) == cap(c.clear) {
			c.clear = append(c.clear, 0)[:len(c.clear)]
		}
		n, err := c.tls.Read(c.clear[len(c.clear):cap(c.clear)])
		c.clear = c.clear[:len(c.clear)+n]
		if errors.Is(err, dryError{}) {
			return c.clear, nil
		}
		if err != nil {
			return c.clear, err
		}
	}
}

// Next waits for the next read that brought body bytes. At the end of the body
// the error is io.EOF, which may come together with the last bytes. What it
// returns is never nil.
func (c *Conn) Next() (*Arrived, error) {
	if p := c.left; c.frame.done || len(p) > 0 {
		c.left = nil
		if a, err := c.unframe(p, nil); len(a.Data) > 0 || err != nil {
			return a, err
		}
	}
	for {
		p, err := c.read()
		if a, err := c.unframe(p, err); len(a.Data) > 0 || err != nil {
			return a, err
		}
	}
}

// unframe finds the body bytes in p and, with readErr, how the body ended.
func (c *Conn) unframe(p []byte, readErr error) (*Arrived, error) {
	body, rest, err := c.frame.feed(p)
	a := &c.got
	*a = Arrived{Data: body, App: c.s.last.App, Kernel: c.s.last.Kernel, Waited: c.waited}
	if !c.s.last.Waited {
		// Bytes of the answer cannot have come before the request was written.
		a.Since = stream.Some(min(c.s.last.Since, max(0, a.App.Sub(c.wrote))))
	}
	if len(body) > 0 {
		c.waited = false
	}
	switch {
	case err != nil:
	case c.frame.done:
		c.broken = c.broken || len(rest) > 0 || readErr != nil
		return a, io.EOF
	case readErr == io.EOF && c.frame.mode == untilClose:
		c.broken, err = true, io.EOF
		return a, err
	case readErr == io.EOF:
		err = io.ErrUnexpectedEOF
	default:
		err = readErr
	}
	c.broken = c.broken || err != nil
	return a, err
}

// Framing says how the body is delimited: chunked, length or close.
func (c *Conn) Framing() string { return c.frame.mode.String() }

// Remote is the address of the other side.
func (c *Conn) Remote() string { return c.s.RemoteAddr().String() }

// TLSVersion names it, "" without TLS.
func (c *Conn) TLSVersion() string { return c.tlsName }

// OutOfOrder counts the segments that came out of order so far.
func (c *Conn) OutOfOrder() stream.Maybe[int] { return c.s.OutOfOrder() }

// Usable reports whether the next request may use the connection: the last
// body was read to its end, and the server has not closed or spoken since.
func (c *Conn) Usable() bool {
	if c.broken || c.hasBody && !c.frame.done || len(c.left) > 0 {
		return false
	}
	return c.s.idle() || c.tls != nil && c.onlyTickets()
}

// onlyTickets takes in what a server says of itself within TLS: session tickets
// may come when the handshake is over, and are no answer to anything.
func (c *Conn) onlyTickets() bool {
	if len(c.s.data) == 0 && !c.s.poll() {
		return false
	}
	c.s.dry = dryError{}
	p, err := c.decrypt()
	return err == nil && len(p) == 0 && c.s.idle()
}

// Close closes the connection without a word: a TLS close_notify would have to
// wait for a peer that may be gone.
func (c *Conn) Close() {
	_ = c.s.Close()
	c.s.release()
}
