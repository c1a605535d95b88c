package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"weir/stream"
)

// dialer makes stamped connections.
type dialer struct {
	o      Options
	roots  *x509.CertPool
	lend   buffers
	awake  func() error // closes what keeps the kernel stamping
	native net.Dialer
}

func newDialer(o Options) *dialer {
	d := &dialer{o: o, native: net.Dialer{Timeout: o.DialTimeout, Control: askStamps}}
	d.native.SetMultipathTCP(false) // its sockets do not stamp
	if len(o.CACert) > 0 {
		if d.roots, _ = x509.SystemCertPool(); d.roots == nil {
			d.roots = x509.NewCertPool()
		}
		d.roots.AppendCertsFromPEM(o.CACert)
	}
	if !o.AppStamps {
		if c := keepStamping(); c != nil {
			d.awake = c.Close
		}
	}
	return d
}

// phaseError is a failure to get as far as a response.
type phaseError struct {
	reason string // dns, refused, unreachable, tls, no_local_port, write
	err    error
}

func (e *phaseError) Error() string { return e.err.Error() }
func (e *phaseError) Unwrap() error { return e.err }

// connect dials addr (host:port) and notes how long lookup and connect took.
func (d *dialer) connect(ctx context.Context, addr string, ph *stream.Phases) (*sock, error) {
	t := &dialTrace{started: map[string]time.Time{}}
	c, err := d.native.DialContext(httptrace.WithClientTrace(ctx, t.hooks()), "tcp", addr)
	t.into(ph)
	if err != nil {
		return nil, &phaseError{dialReason(err), err}
	}
	return newSock(c, &d.lend), nil
}

// handshake puts TLS on a connection and notes how long that took.
func (d *dialer) handshake(ctx context.Context, s *sock, host, proto string, ph *stream.Phases) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.o.TLSTimeout)
	defer cancel()
	start := time.Now()
	c := tls.Client(s, &tls.Config{
		ServerName:         host,
		RootCAs:            d.roots,
		NextProtos:         []string{proto},
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: d.o.Insecure, // #nosec G402 -- only where the user asked for it
	})
	if err := c.HandshakeContext(ctx); err != nil {
		s.Close()
		if ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("no TLS handshake within %s: %w", d.o.TLSTimeout, err)
		}
		if proto != "h2" && strings.Contains(err.Error(), "no application protocol") {
			err = fmt.Errorf("the server does not speak HTTP/1.1 (use --http 2): %w", err)
		}
		return nil, &phaseError{"tls", err}
	}
	ph.TLS = stream.Some(time.Since(start))
	if got := c.ConnectionState().NegotiatedProtocol; proto == "h2" && got != proto {
		s.Close()
		return nil, &phaseError{"tls", fmt.Errorf("the server did not choose HTTP/2 by ALPN (it chose %q): use --http 1.1", got)}
	}
	return c, nil
}

// dialTrace times the lookup and the connection attempt that won. Attempts at
// several addresses may run at once.
type dialTrace struct {
	mu       sync.Mutex
	dnsStart time.Time
	dns      time.Duration
	looked   bool
	started  map[string]time.Time
	connect  time.Duration
	won      bool
}

func (t *dialTrace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.dnsStart = time.Now()
		},
		DNSDone: func(httptrace.DNSDoneInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.dns, t.looked = time.Since(t.dnsStart), true
		},
		ConnectStart: func(_, addr string) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.started[addr] = time.Now()
		},
		ConnectDone: func(_, addr string, err error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if err == nil && !t.won {
				t.connect, t.won = time.Since(t.started[addr]), true
			}
		},
	}
}

func (t *dialTrace) into(ph *stream.Phases) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.looked {
		ph.DNS = stream.Some(t.dns)
	}
	if t.won {
		ph.Connect = stream.Some(t.connect)
	}
}

// hostPort is the address a URL names, with the scheme's port where it has none.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
