package probe

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"weir/http1"
	"weir/stream"
)

// carrier is one connection; it carries one request at a time.
type carrier interface {
	// Send writes the request and reads the response's head, whose body must not
	// be touched. It fills in the phases after connect.
	Send(ctx context.Context, req *http.Request, w *window) (*http.Response, error)
	// Next waits for the next read that brought body bytes. At the end of the
	// body the error is io.EOF, which may come together with the last bytes. What
	// it returns is never nil, and valid until the next call.
	Next() (*arrived, error)
	// grace shortens the wait for the next read.
	grace(time.Time)
	// facts says what is known below HTTP, once the head is here.
	facts() lower
	// OutOfOrder counts the segments that came out of order so far.
	OutOfOrder() stream.Maybe[int]
	// Interrupt makes a blocked Send or Next return at once; any goroutine may.
	Interrupt()
	// Usable reports whether the next request may use the connection.
	Usable() bool
	Close()
}

// window is the time a request has; arrived is what one read brought.
type (
	window  = http1.Window
	arrived = http1.Arrived
)

// lower is what is known of the connection below HTTP.
type lower struct {
	stamp   stream.Stamp // the best its reads could have
	framing string       // chunked | length | close; "" where there is no such thing
	remote  string
	tls     string
}

// obtain gives an idle connection or makes one; warm: it has been used before.
func (c *Client) obtain(ctx context.Context, u *url.URL, ph *stream.Phases) (got carrier, warm bool, err error) {
	if !c.o.Fresh {
		if idle, ok := c.pool.Get(poolKey(u)); ok {
			return idle, true, nil
		}
	}
	if c.o.HTTP == "ws" {
		s, err := dialWebSocket(ctx, c.dialer, u, ph)
		if err != nil {
			return nil, false, err
		}
		return s, false, nil
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

func poolKey(u *url.URL) string { return u.Scheme + "://" + http1.HostPort(u) }
