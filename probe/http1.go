package probe

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"weir/stream"
)

// http1 is an HTTP/1.1 connection.
type http1 struct {
	s         *sock
	tls       *tls.Conn // nil: plain
	clear     []byte    // TLS: what the last socket read released
	headLimit int
	tlsName   string

	mu      sync.Mutex // deadlines against interrupt
	stopped bool

	wrote   time.Time
	frame   framing
	left    []byte // body bytes that came in the read of the head
	waited  bool   // a read since the last body bytes had to wait
	broken  bool
	hasBody bool
}

func dialHTTP1(ctx context.Context, d *dialer, u *url.URL, ph *stream.Phases) (*http1, error) {
	s, err := d.connect(ctx, hostPort(u), ph)
	if err != nil {
		return nil, err
	}
	c := &http1{s: s, headLimit: d.o.HeaderLimit}
	if u.Scheme == "https" {
		if c.tls, err = d.handshake(ctx, s, u.Hostname(), "http/1.1", ph); err != nil {
			return nil, err
		}
		c.tlsName = tls.VersionName(c.tls.ConnectionState().Version)
	}
	return c, nil
}

func (c *http1) send(_ context.Context, req *http.Request, w *window) (*http.Response, error) {
	c.begin(w)
	writeErr := c.write(req)
	c.wrote = time.Now()
	if writeErr == nil {
		w.phases.RequestWritten = stream.Some(c.wrote.Sub(w.t0))
	}
	if w.head > 0 {
		c.setDeadline(earlier(c.wrote.Add(w.head), w.deadline))
	}
	res, err := c.head(req)
	if err != nil {
		c.broken = true
		if writeErr != nil { // the response would have been the better answer
			return nil, &phaseError{"write", writeErr}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(w.deadline) {
			return nil, fmt.Errorf("no response head within %s: %w", w.head, err)
		}
		return nil, err
	}
	w.headAt = c.s.last
	w.phases.Headers = stream.Some(w.headAt.app.Sub(w.t0))
	c.setDeadline(w.deadline)
	c.broken = writeErr != nil || res.Close || res.StatusCode == http.StatusSwitchingProtocols
	return res, nil //nolint:nilerr // a write that failed after the server had answered: the answer counts
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (c *http1) begin(w *window) {
	c.left, c.waited, c.hasBody, c.frame = nil, false, false, framing{}
	c.setDeadline(w.deadline)
}

// setDeadline sets the time at which reads and writes give up, unless the
// request has been interrupted: such a connection is not used again.
func (c *http1) setDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		_ = c.s.SetDeadline(t) // a dead connection shows at its next use
	}
}

func (c *http1) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	_ = c.s.SetDeadline(time.Unix(1, 0))
}

func (c *http1) grace(t time.Time) { c.setDeadline(t) }

// write sends the request in one piece, so that no server sees a head without
// its body or waits for Nagle.
func (c *http1) write(req *http.Request) error {
	var b bytes.Buffer
	if err := req.Write(&b); err != nil {
		return err
	}
	var out io.Writer = c.s.Conn
	if c.tls != nil {
		out = c.tls
	}
	_, err := out.Write(b.Bytes())
	return err
}

var (
	errHeadBig  = errors.New("response head larger than the limit")
	errHeadForm = errors.New("malformed response head")

	errNoResponse = errors.New("the server closed the connection without a response")
)

// head reads the response's head and skips informational ones.
func (c *http1) head(req *http.Request) (*http.Response, error) {
	var h []byte
	spent := 0
	for {
		end := headEnd(h)
		for end < 0 {
			if len(h)+spent > c.headLimit {
				return nil, fmt.Errorf("%w of %d bytes", errHeadBig, c.headLimit)
			}
			p, err := c.read()
			if err != nil {
				return nil, cutHead(err, h)
			}
			if h = append(h, p...); len(h) >= 5 && !bytes.HasPrefix(h, []byte("HTTP/")) {
				return nil, fmt.Errorf("%w: it begins with %q", errHeadForm, h[:min(len(h), 40)])
			}
			end = headEnd(h)
		}
		res, err := http.ReadResponse(bufio.NewReaderSize(bytes.NewReader(h[:end]), 1024), req)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errHeadForm, err)
		}
		spent += end
		if res.StatusCode >= 200 || res.StatusCode == http.StatusSwitchingProtocols {
			c.frame, c.left, c.hasBody = framingOf(res), h[end:], true
			res.Body = http.NoBody // the carrier reads it; net/http's would hold its buffer for as long
			return res, nil
		}
		h = h[end:]
	}
}

// headEnd is the length of a complete head, or -1.
func headEnd(h []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(h[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
		switch rest := h[at:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return at + 1
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return at + 2
		}
	}
}

// cutHead words the end of a connection inside or before the head.
func cutHead(err error, got []byte) error {
	switch {
	case len(got) == 0 && err == io.EOF:
		return fmt.Errorf("%w: %w", errNoResponse, io.ErrUnexpectedEOF)
	case len(got) == 0 && errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%w: %w", errNoResponse, err)
	case err != io.EOF:
		return err
	}
	return fmt.Errorf("the server closed the connection inside the response head: %w", io.ErrUnexpectedEOF)
}

// read makes one socket read and returns the bytes it released, which with TLS
// may be none: a record is readable only once its last byte is here.
func (c *http1) read() ([]byte, error) {
	if c.tls == nil {
		err := c.s.fill()
		c.waited = c.waited || c.s.last.waited
		return c.s.take(), err
	}
	if len(c.s.data) == 0 { // else: bytes that came with the handshake's last
		err := c.s.fill()
		c.waited = c.waited || c.s.last.waited
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
func (c *http1) decrypt() ([]byte, error) {
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

func (c *http1) next() (arrived, error) {
	if p := c.left; c.frame.done || len(p) > 0 {
		c.left = nil
		if a, err := c.unframe(p, nil); len(a.data) > 0 || err != nil {
			return a, err
		}
	}
	for {
		p, err := c.read()
		if a, err := c.unframe(p, err); len(a.data) > 0 || err != nil {
			return a, err
		}
	}
}

// unframe finds the body bytes in p and, with readErr, how the body ended.
func (c *http1) unframe(p []byte, readErr error) (arrived, error) {
	body, rest, err := c.frame.feed(p)
	a := arrived{data: body, app: c.s.last.app, kernel: c.s.last.kernel, waited: c.waited}
	if !c.s.last.waited {
		// Bytes of the answer cannot have come before the request was written.
		a.since = stream.Some(min(c.s.last.since, max(0, a.app.Sub(c.wrote))))
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

func (c *http1) facts() lower {
	return lower{stream.StampKernel, c.frame.mode.String(), c.s.RemoteAddr().String(), c.tlsName}
}

func (c *http1) disorder() stream.Maybe[int] { return c.s.outOfOrder() }

// usable: the last body was read to its end, and the server has not closed or
// spoken since.
func (c *http1) usable() bool {
	return !c.broken && (!c.hasBody || c.frame.done) && c.s.idle()
}

func (c *http1) close() {
	c.s.Close() // a TLS close_notify would have to wait for a peer that may be gone
	c.s.release()
}
