package http1

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"sync"
	"syscall"
	"time"

	"weir/stream"
)

// DialerOptions say how connections are made. The zero value works.
type DialerOptions struct {
	DialTimeout time.Duration  // name lookup and connect; 0 = none
	TLSTimeout  time.Duration  // handshake; 0 = none
	Roots       *x509.CertPool // nil = the system's
	Insecure    bool           // do not verify the server's certificate
	Sessions    tls.ClientSessionCache
	AppStamps   bool // do not wait for the kernel to begin stamping

	// Control is asked before each connect, with the address that is dialled.
	Control func(network, address string, c syscall.RawConn) error
}

// Dialer makes stamped connections. Close it.
type Dialer struct {
	o      DialerOptions
	lend   buffers
	awake  func() error // closes what keeps the kernel stamping
	native net.Dialer
}

// NewDialer returns a dialer.
func NewDialer(o DialerOptions) *Dialer {
	d := &Dialer{o: o, native: net.Dialer{Timeout: o.DialTimeout, Control: askStamps}}
	if o.Control != nil {
		d.native.Control = func(network, address string, c syscall.RawConn) error {
			if err := o.Control(network, address, c); err != nil {
				return err
			}
			return askStamps(network, address, c)
		}
	}
	d.native.SetMultipathTCP(false) // its sockets do not stamp
	if !o.AppStamps {
		if c := keepStamping(); c != nil {
			d.awake = c.Close
		}
	}
	return d
}

// Close frees what the dialer holds; connections it made stay.
func (d *Dialer) Close() {
	if d.awake != nil {
		_ = d.awake()
	}
}

// PhaseError is a failure to get as far as a response.
type PhaseError struct {
	Reason string // dns, refused, unreachable, tls, no_local_port, write
	Err    error
}

func (e *PhaseError) Error() string { return e.Err.Error() }

// Unwrap gives the error below.
func (e *PhaseError) Unwrap() error { return e.Err }

// dialReason names why no connection came to be (METRICS §7).
func dialReason(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "dns"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no_local_port"
	}
	return "unreachable"
}

// Connect dials addr (host:port) and notes how long lookup and connect took.
func (d *Dialer) Connect(ctx context.Context, addr string, ph *stream.Phases) (*Sock, error) {
	t := &dialTrace{started: map[string]time.Time{}}
	c, err := d.native.DialContext(httptrace.WithClientTrace(ctx, t.hooks()), "tcp", addr)
	t.into(ph)
	if err != nil {
		return nil, &PhaseError{dialReason(err), err}
	}
	return newSock(c, &d.lend), nil
}

// Handshake puts TLS on a connection, offering protos, and notes how long that
// took. The connection is closed where it fails.
func (d *Dialer) Handshake(ctx context.Context, s *Sock, host string, protos []string, ph *stream.Phases) (*tls.Conn, error) {
	if d.o.TLSTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.o.TLSTimeout)
		defer cancel()
	}
	start := time.Now()
	c := tls.Client(s, &tls.Config{
		ServerName:         host,
		RootCAs:            d.o.Roots,
		NextProtos:         protos,
		MinVersion:         tls.VersionTLS12,
		ClientSessionCache: d.o.Sessions,
		InsecureSkipVerify: d.o.Insecure, // #nosec G402 -- only where the user asked for it
	})
	if err := c.HandshakeContext(ctx); err != nil {
		_ = s.Close()
		if ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("no TLS handshake within %s: %w", d.o.TLSTimeout, err)
		}
		return nil, &PhaseError{"tls", err}
	}
	ph.TLS = stream.Some(time.Since(start))
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

// HostPort is the address a URL names, with the scheme's port where it has none.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
