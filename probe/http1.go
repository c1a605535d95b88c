package probe

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"time"

	"weir/http1"
	"weir/stream"
)

// plain1 is an HTTP/1.1 connection as a carrier.
type plain1 struct{ *http1.Conn }

func dialHTTP1(ctx context.Context, d *dialer, u *url.URL, ph *stream.Phases) (plain1, error) {
	s, err := d.Connect(ctx, http1.HostPort(u), ph)
	if err != nil {
		return plain1{}, err
	}
	var t *tls.Conn
	if u.Scheme == "https" {
		if t, err = d.handshake(ctx, s, u.Hostname(), "http/1.1", ph); err != nil {
			return plain1{}, err
		}
	}
	return plain1{http1.NewConn(s, t, d.o.HeaderLimit)}, nil
}

func (c plain1) Send(_ context.Context, req *http.Request, w *window) (*http.Response, error) {
	return c.Conn.Send(req, w)
}

func (c plain1) grace(t time.Time) { c.SetDeadline(t) }

func (c plain1) facts() lower {
	return lower{stream.StampKernel, c.Framing(), c.Remote(), c.TLSVersion()}
}
