package probe

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"weir/stream"
)

// carrier is one connection; it carries one request at a time.
type carrier interface {
	// send writes the request and reads the response's head, whose body must not
	// be touched. It fills in the phases after connect.
	send(ctx context.Context, req *http.Request, w *window) (*http.Response, error)
	// next waits for the next read that brought body bytes. At the end of the
	// body the error is io.EOF, which may come together with the last bytes.
	next() (arrived, error)
	// grace shortens the wait for the next read.
	grace(time.Time)
	// facts says what is known below HTTP, once the head is here.
	facts() lower
	// disorder counts the segments that came out of order so far.
	disorder() stream.Maybe[int]
	// interrupt makes a blocked send or next return at once; any goroutine may.
	interrupt()
	// usable reports whether the next request may use the connection.
	usable() bool
	close()
}

// window is the time a request has, and where its phases are noted.
type window struct {
	t0       time.Time
	deadline time.Time
	head     time.Duration // from request written to the response's head; 0 = no limit of its own
	phases   *stream.Phases
	headAt   stamp // of the read that completed the head; zero where reads are not seen
}

// arrived is what one read brought.
type arrived struct {
	data   []byte // valid until the next call
	app    time.Time
	kernel int64 // Unix ns; 0 = none
	waited bool
	since  stream.Maybe[time.Duration] // of a read that did not wait: how long after the read before
}

// lower is what is known of the connection below HTTP.
type lower struct {
	stamp   stream.Stamp // the best its reads could have
	framing string       // chunked | length | close; "" where there is no such thing
	remote  string
	tls     string
}

// maxIdle is how long an unused connection is kept: longer, and some relay on
// the way has forgotten it without a word.
const maxIdle = 90 * time.Second

// pool keeps idle connections by what they lead to, newest first.
type pool struct {
	mu     sync.Mutex
	idle   map[string][]idle
	closed bool
}

type idle struct {
	carrier
	since time.Time
}

func (p *pool) get(key string) carrier {
	for {
		c, ok := p.pop(key)
		switch {
		case !ok:
			return nil
		case time.Since(c.since) < maxIdle && c.usable():
			return c.carrier
		}
		c.close()
	}
}

func (p *pool) pop(key string) (c idle, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[key]
	if len(list) == 0 {
		return idle{}, false
	}
	last := len(list) - 1
	c, list[last] = list[last], idle{}
	p.idle[key] = list[:last]
	return c, true
}

func (p *pool) put(key string, c carrier) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !c.usable() {
		c.close()
		return
	}
	if p.idle == nil {
		p.idle = map[string][]idle{}
	}
	p.idle[key] = append(p.idle[key], idle{c, time.Now()})
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, list := range p.idle {
		for _, c := range list {
			c.close()
		}
	}
	p.idle = nil
}

// obtain gives an idle connection or makes one; warm: it has been used before.
func (c *Client) obtain(ctx context.Context, u *url.URL, ph *stream.Phases) (got carrier, warm bool, err error) {
	if !c.o.Fresh {
		if idle := c.pool.get(poolKey(u)); idle != nil {
			return idle, true, nil
		}
	}
	if c.o.HTTP == "2" || c.o.HTTP == "h2c" {
		h, err := dialHTTP2(ctx, c.dialer, u, ph)
		if err != nil {
			return nil, false, err
		}
		return h, false, nil
	}
	h, err := dialHTTP1(ctx, c.dialer, u, ph)
	if err != nil {
		return nil, false, err
	}
	return h, false, nil
}

func poolKey(u *url.URL) string { return u.Scheme + "://" + hostPort(u) }
