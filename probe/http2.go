package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"weir/http1"
	"weir/stream"
)

// http2 is an HTTP/2 connection of net/http. One stream at a time uses it: a
// lost segment then delays only the stream that is measured, and the
// connection's flow control is its own.
type http2 struct {
	cc      *http.ClientConn
	tr      *http.Transport
	s       *http1.Sock
	plain   *prelude // nil with TLS, where ALPN has decided
	tlsName string

	ending

	phases  sync.Mutex // of the two: a request may be written after its answer's head came
	w       *window
	written time.Time

	body   io.ReadCloser
	open   bool // the body has not been read to its end
	buf    []byte
	broken bool
}

func dialHTTP2(ctx context.Context, d *dialer, u *url.URL, ph *stream.Phases) (*http2, error) {
	c := &http2{}
	p := new(http.Protocols)
	p.SetHTTP2(u.Scheme == "https")
	p.SetUnencryptedHTTP2(u.Scheme == "http")
	c.tr = &http.Transport{
		Protocols:              p,
		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(d.o.HeaderLimit),
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			s, err := d.Connect(ctx, addr, ph)
			if err != nil {
				return nil, err
			}
			c.s, c.plain = s, &prelude{Sock: s}
			return c.plain, nil
		},
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			s, err := d.Connect(ctx, addr, ph)
			if err != nil {
				return nil, err
			}
			t, err := d.handshake(ctx, s, u.Hostname(), "h2", ph)
			if err != nil {
				return nil, err
			}
			c.s, c.tlsName = s, tls.VersionName(t.ConnectionState().Version)
			return t, nil
		},
	}
	cc, err := c.tr.NewClientConn(ctx, u.Scheme, http1.HostPort(u))
	if err != nil {
		return nil, c.explain(err)
	}
	c.cc = cc
	return c, nil
}

func (c *http2) Send(ctx context.Context, req *http.Request, w *window) (*http.Response, error) {
	ctx, cancel := context.WithDeadline(ctx, w.Deadline)
	c.begun(cancel)
	c.phases.Lock()
	c.w, c.written = w, time.Time{}
	c.phases.Unlock()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: c.noteWritten})
	var late *time.Timer
	if w.Head > 0 {
		late = time.AfterFunc(w.Head, cancel)
	}
	res, err := c.cc.RoundTrip(req.WithContext(ctx))
	now := time.Now()
	if late != nil && !late.Stop() && err != nil {
		err = errors.Join(errors.New("no response head within "+w.Head.String()), context.DeadlineExceeded)
	}
	if err != nil {
		c.broken = true
		c.stop()
		if !isTimeout(err) {
			err = c.explain(err)
		}
		return nil, err
	}
	w.Phases.Headers = stream.Some(now.Sub(w.T0))
	c.body, c.open = res.Body, true
	return res, nil
}

// prelude keeps the first bytes a server sent on a connection without ALPN.
type prelude struct {
	*http1.Sock
	mu    sync.Mutex
	first []byte
}

func (p *prelude) Read(b []byte) (int, error) {
	n, err := p.Sock.Read(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	if room := 5 - len(p.first); room > 0 {
		p.first = append(p.first, b[:min(n, room)]...)
	}
	return n, err
}

// explain says where a failure comes from a server that does not speak HTTP/2:
// it answered in HTTP/1, or hung up on the preface.
func (c *http2) explain(err error) error {
	if c.plain == nil {
		return err
	}
	c.plain.mu.Lock()
	defer c.plain.mu.Unlock()
	if first := string(c.plain.first); first != "" && first != "HTTP/" {
		return err
	}
	return fmt.Errorf("%w: %w", errNotHTTP2, err)
}

var errNotHTTP2 = errors.New("the server did not answer in HTTP/2 (use --http 1.1 if it speaks only that)")

func (c *http2) Next() (*arrived, error) {
	if c.buf == nil {
		c.buf = make([]byte, http1.ReadSize)
	}
	n, err := c.body.Read(c.buf)
	a := &arrived{Data: c.buf[:n], App: time.Now(), Waited: true}
	if err != nil {
		c.body.Close()
		c.stop()
		c.open, c.broken = false, c.broken || err != io.EOF
	}
	return a, err
}

// noteWritten may be called after the response's head has come.
func (c *http2) noteWritten(i httptrace.WroteRequestInfo) {
	now := time.Now()
	c.phases.Lock()
	defer c.phases.Unlock()
	if i.Err == nil {
		c.written = now
	}
}

// stop ends the request that is over: its timers, and the phase that may be
// known late.
func (c *http2) stop() {
	c.over()
	c.phases.Lock()
	defer c.phases.Unlock()
	if c.w != nil && !c.written.IsZero() {
		c.w.Phases.RequestWritten = stream.Some(c.written.Sub(c.w.T0))
	}
	c.w = nil
}

// grace implements carrier.
func (c *http2) grace(t time.Time) { c.after(t, c.Interrupt) }

func (c *http2) facts() lower {
	return lower{stamp: stream.StampBody, tls: c.tlsName, remote: c.s.RemoteAddr().String()}
}

func (c *http2) OutOfOrder() stream.Maybe[int] { return c.s.OutOfOrder() }

func (c *http2) Usable() bool {
	return !c.broken && !c.open && c.cc.Err() == nil && c.cc.Available() > 0
}

func (c *http2) Close() {
	c.stop()
	if c.body != nil {
		c.body.Close()
	}
	_ = c.cc.Close() // an error says that it is closed already
	c.tr.CloseIdleConnections()
}
