package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"weir/stream"
)

// http2 is an HTTP/2 connection of net/http. One stream at a time uses it: a
// lost segment then delays only the stream that is measured, and the
// connection's flow control is its own.
type http2 struct {
	cc      *http.ClientConn
	tr      *http.Transport
	s       *sock
	tlsName string

	mu      sync.Mutex
	cancel  context.CancelFunc // of the request
	timer   *time.Timer        // grace
	w       *window
	written time.Time

	body   io.ReadCloser
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
			s, err := d.connect(ctx, addr, ph)
			if err != nil {
				return nil, err
			}
			c.s = s
			return s, nil
		},
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			s, err := d.connect(ctx, addr, ph)
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
	cc, err := c.tr.NewClientConn(ctx, u.Scheme, hostPort(u))
	if err != nil {
		return nil, err
	}
	c.cc = cc
	return c, nil
}

func (c *http2) send(ctx context.Context, req *http.Request, w *window) (*http.Response, error) {
	ctx, cancel := context.WithDeadline(ctx, w.deadline)
	c.mu.Lock()
	c.cancel, c.w, c.written = cancel, w, time.Time{}
	c.mu.Unlock()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: c.noteWritten})
	var late *time.Timer
	if w.head > 0 {
		late = time.AfterFunc(w.head, cancel)
	}
	res, err := c.cc.RoundTrip(req.WithContext(ctx))
	now := time.Now()
	if late != nil && !late.Stop() && err != nil {
		err = errors.Join(errors.New("no response head within "+w.head.String()), context.DeadlineExceeded)
	}
	if err != nil {
		c.broken = true
		c.stop()
		return nil, err
	}
	w.phases.Headers = stream.Some(now.Sub(w.t0))
	c.body = res.Body
	return res, nil
}

func (c *http2) next() (arrived, error) {
	if c.buf == nil {
		c.buf = make([]byte, readSize)
	}
	n, err := c.body.Read(c.buf)
	a := arrived{data: c.buf[:n], app: time.Now(), waited: true}
	if err != nil {
		c.body.Close()
		c.stop()
		c.broken = c.broken || err != io.EOF
	}
	return a, err
}

// noteWritten may be called after the response's head has come.
func (c *http2) noteWritten(i httptrace.WroteRequestInfo) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if i.Err == nil {
		c.written = now
	}
}

// stop ends the request that is over: its timers, and the phase that may be
// known late.
func (c *http2) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
	if c.w != nil && !c.written.IsZero() {
		c.w.phases.RequestWritten = stream.Some(c.written.Sub(c.w.t0))
	}
	c.w = nil
}

func (c *http2) grace(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Reset(time.Until(t))
	} else if c.cancel != nil {
		c.timer = time.AfterFunc(time.Until(t), c.cancel)
	}
}

func (c *http2) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *http2) facts() lower {
	return lower{stamp: stream.StampBody, tls: c.tlsName, remote: c.s.RemoteAddr().String()}
}

func (c *http2) disorder() stream.Maybe[int] { return c.s.outOfOrder() }

func (c *http2) usable() bool { return !c.broken && c.cc.Err() == nil && c.cc.Available() > 0 }

func (c *http2) close() {
	c.stop()
	if c.body != nil {
		c.body.Close()
	}
	c.cc.Close()
	c.tr.CloseIdleConnections()
}
