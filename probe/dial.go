package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"weir/http1"
	"weir/stream"
)

// dialer makes stamped connections.
type dialer struct {
	*http1.Dialer
	o Options
}

func newDialer(o Options) *dialer {
	var roots *x509.CertPool
	if len(o.CACert) > 0 {
		if roots, _ = x509.SystemCertPool(); roots == nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM(o.CACert)
	}
	return &dialer{o: o, Dialer: http1.NewDialer(http1.DialerOptions{DialTimeout: o.DialTimeout, TLSTimeout: o.TLSTimeout,
		Roots: roots, Insecure: o.Insecure, AppStamps: o.AppStamps})}
}

// handshake puts TLS on a connection, for one protocol; where the server does
// not speak it, the error says what to do.
func (d *dialer) handshake(ctx context.Context, s *http1.Sock, host, proto string, ph *stream.Phases) (*tls.Conn, error) {
	c, err := d.Handshake(ctx, s, host, []string{proto}, ph)
	var phase *http1.PhaseError
	if errors.As(err, &phase) && proto != "h2" && strings.Contains(err.Error(), "no application protocol") {
		phase.Err = fmt.Errorf("the server does not speak HTTP/1.1 (use --http 2): %w", phase.Err)
	}
	if err != nil {
		return nil, err
	}
	if got := c.ConnectionState().NegotiatedProtocol; proto == "h2" && got != proto {
		_ = s.Close()
		return nil, &http1.PhaseError{Reason: "tls", Err: fmt.Errorf("the server did not choose HTTP/2 by ALPN (it chose %q): use --http 1.1", got)}
	}
	return c, nil
}
