package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"weir/stream"
)

// ErrHTTP2 says that the server settled on HTTP/2 within TLS: another client
// has to ask it. Nothing of the request was sent.
var ErrHTTP2 = errors.New("the server chose HTTP/2")

// ClientOptions say how a client works. The zero value works.
type ClientOptions struct {
	Dialer    DialerOptions
	HeadLimit int      // bytes of a response's head, informational ones included; 0 = 1 MiB
	Idle      int      // connections kept for each server; 0 = 1024
	Protocols []string // offered within TLS; nil = http/1.1
}

// Client asks servers, over connections that it keeps. It is safe for
// concurrent use. Close it.
type Client struct {
	o    ClientOptions
	d    *Dialer
	pool Pool[*Conn]
	two  sync.Map // servers (pool keys) that settled on HTTP/2
}

// NewClient returns a client.
func NewClient(o ClientOptions) *Client {
	if o.HeadLimit == 0 {
		o.HeadLimit = 1 << 20
	}
	if o.Idle == 0 {
		o.Idle = 1024
	}
	if o.Protocols == nil {
		o.Protocols = []string{"http/1.1"}
	}
	return &Client{o: o, d: NewDialer(o.Dialer), pool: Pool[*Conn]{Limit: o.Idle}}
}

// Close closes idle connections; those in use close with their request.
func (c *Client) Close() {
	c.pool.Close()
	c.d.Close()
}

// Trip is what is known of a request's way.
type Trip struct {
	T0      time.Time // of StartClock; set by the caller
	Phases  stream.Phases
	Warm    bool   // the connection had been used before
	Remote  string // address that answered; "" = none did
	TLS     string // version
	Framing string // of the answer's body: chunked, length or close
	HeadAt  Stamp  // of the read that completed the head

	before stream.Maybe[int] // segments out of order before the request
}

// Do sends the request and reads the answer's head; the caller closes its
// body, which is a *Body. Ending ctx ends the request at any moment, and
// makes a read of the body fail. Where a kept connection turns out to have
// been closed before a byte of an answer, the request is sent again, if that
// does no harm: servers close idle connections just when they like, but they
// also die over a request that they have read.
func (c *Client) Do(ctx context.Context, req *http.Request, t *Trip) (*http.Response, error) {
	for {
		conn, err := c.obtain(ctx, req, t)
		if err != nil {
			return nil, err
		}
		t.before = conn.OutOfOrder()
		w := Window{T0: t.T0, Phases: &t.Phases, Beside: true}
		release := context.AfterFunc(ctx, conn.Interrupt)
		res, err := conn.Send(req, &w)
		if err == nil {
			t.HeadAt, t.Framing = w.HeadAt, conn.Framing()
			res.Request = nil // it holds the body that was sent
			res.Body = &Body{c: c, conn: conn, key: poolKey(req), release: release, before: t.before}
			return res, nil
		}
		release()
		conn.Close()
		if !t.Warm || ctx.Err() != nil || !harmless(req, err) || !rewind(req) {
			return nil, err
		}
	}
}

func poolKey(req *http.Request) string { return req.URL.Scheme + "://" + req.URL.Host }

// obtain gives an idle connection or makes one.
func (c *Client) obtain(ctx context.Context, req *http.Request, t *Trip) (conn *Conn, err error) {
	key := poolKey(req)
	if conn, t.Warm = c.pool.Get(key); !t.Warm {
		if conn, err = c.dial(ctx, req, t); err != nil {
			return nil, err
		}
	}
	t.Remote, t.TLS = conn.Remote(), conn.TLSVersion()
	return conn, nil
}

func (c *Client) dial(ctx context.Context, req *http.Request, t *Trip) (*Conn, error) {
	key := poolKey(req)
	offers := slices.Contains(c.o.Protocols, "h2")
	if _, two := c.two.Load(key); two && offers {
		return nil, ErrHTTP2
	}
	s, err := c.d.Connect(ctx, HostPort(req.URL), &t.Phases)
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "https" {
		return NewConn(s, nil, c.o.HeadLimit), nil
	}
	var over *tls.Conn
	if over, err = c.d.Handshake(ctx, s, req.URL.Hostname(), c.o.Protocols, &t.Phases); err != nil {
		return nil, err
	}
	if over.ConnectionState().NegotiatedProtocol == "h2" {
		_ = s.Close()
		c.two.Store(key, true)
		return nil, ErrHTTP2
	}
	return NewConn(s, over, c.o.HeadLimit), nil
}

// harmless reports whether the request may be sent again, the server having
// closed the connection without a byte of an answer: it was not written whole,
// or sending it twice is the same as once.
func harmless(req *http.Request, err error) bool {
	var phase *PhaseError
	if errors.As(err, &phase) && phase.Reason == "write" {
		return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	}
	return errors.Is(err, ErrNoResponse) && idempotent(req)
}

// idempotent reports whether a request says that it may be repeated: by its
// method, or by a key that the server knows it by.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return req.Header.Get("Idempotency-Key") != ""
}

// rewind makes the request ready to be sent again.
func rewind(req *http.Request) bool {
	if req.GetBody == nil {
		return req.Body == nil || req.Body == http.NoBody
	}
	body, err := req.GetBody()
	req.Body = body
	return err == nil
}

// Warm opens a connection to the request's server ahead of any request, and
// keeps it.
func (c *Client) Warm(ctx context.Context, req *http.Request) error {
	conn, err := c.dial(ctx, req, &Trip{T0: time.Now()})
	if err != nil {
		return err
	}
	c.pool.Put(poolKey(req), conn)
	return nil
}

// Body is an answer's body: by reads of the socket, or as an io.ReadCloser. It
// belongs to one goroutine.
type Body struct {
	c       *Client
	conn    *Conn // nil: closed
	key     string
	release func() bool
	before  stream.Maybe[int]
	last    *Arrived
	rest    []byte // of the last arrival, which Read took a part of
	err     error  // after it
}

// Next waits for the next read that brought bytes; its data is valid until the
// next call. At the end the error is io.EOF, which may come together with the
// last bytes. What it returns is never nil.
func (b *Body) Next() (*Arrived, error) {
	if b.conn == nil {
		return &Arrived{}, http.ErrBodyReadAfterClose
	}
	if a := b.last; len(b.rest) > 0 {
		a.Data, b.rest = b.rest, nil
		return a, b.err
	}
	if b.err != nil {
		return &Arrived{}, b.err
	}
	b.last, b.err = b.conn.Next()
	return b.last, b.err
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		a, err := b.Next()
		if b.rest = a.Data; len(b.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	if len(b.rest) == 0 && b.err == io.EOF {
		return n, io.EOF
	}
	return n, nil
}

// Disorder counts the segments that came out of order since the request.
func (b *Body) Disorder() (n stream.Maybe[int]) {
	if b.conn == nil {
		return n
	}
	if before, ok := b.before.Get(); ok {
		if now, ok := b.conn.OutOfOrder().Get(); ok {
			return stream.Some(now - before)
		}
	}
	return n
}

// Close gives the connection back, or closes it where the body was not read to
// its end.
func (b *Body) Close() error {
	if b.conn == nil {
		return nil
	}
	conn := b.conn
	b.conn, b.rest = nil, nil
	if !b.release() { // an interrupt may still be on its way
		conn.Close()
		return nil
	}
	conn.s.release()
	b.c.pool.Put(b.key, conn)
	return nil
}
