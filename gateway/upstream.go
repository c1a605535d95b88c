package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/http1"
)

// dialTimeout bounds the connect, and each TLS handshake.
const dialTimeout = 10 * time.Second

// upstream is a service ready to be asked.
type upstream struct {
	Upstream
	name      string
	key       secret
	forward   map[string]bool // further request headers, canonical
	direct    *http1.Client   // HTTP/1.1; nil where the configuration says HTTP/2
	transport *http.Transport // HTTP/2, and what it may fall back to
	turn      atomic.Uint32   // the address the next request begins with
}

// secret is a key that no formatting shows.
type secret struct{ s string }

func (secret) String() string   { return "[hidden]" }
func (secret) GoString() string { return "[hidden]" }

func newUpstreams(c map[string]Upstream) (map[string]*upstream, error) {
	ups := map[string]*upstream{}
	for name, u := range c {
		up, err := newUpstream(name, u)
		if err != nil {
			return nil, fmt.Errorf("upstream %s: %w", name, err)
		}
		ups[name] = up
	}
	return ups, nil
}

func newUpstream(name string, c Upstream) (*upstream, error) {
	u := &upstream{Upstream: c, name: name, forward: map[string]bool{}}
	for _, h := range c.Forward {
		u.forward[http.CanonicalHeaderKey(h)] = true
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	u.key = secret{key}
	trust, err := c.trust()
	if err != nil {
		return nil, err
	}
	sessions := tls.NewLRUClientSessionCache(64)
	if c.HTTP == "" || c.HTTP == "1.1" {
		u.direct = http1.NewClient(http1.ClientOptions{Protocols: protocols(string(c.HTTP)), Dialer: http1.DialerOptions{
			DialTimeout: dialTimeout, TLSTimeout: dialTimeout, Roots: trust, Sessions: sessions, Control: c.control}})
	}
	u.transport = &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTimeout, Control: c.control}).DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: trust, ClientSessionCache: sessions},
		TLSHandshakeTimeout:   dialTimeout,
		DisableCompression:    true, // what arrives is what is passed on
		MaxIdleConnsPerHost:   1024,
		IdleConnTimeout:       http1.MaxIdle,
		ExpectContinueTimeout: time.Second,
		Protocols:             new(http.Protocols),
	}
	p := u.transport.Protocols
	p.SetHTTP1(c.HTTP == "")
	p.SetHTTP2(c.HTTP == "" || c.HTTP == "2")
	p.SetUnencryptedHTTP2(c.HTTP == "h2c")
	return u, nil
}

// protocols are those that are offered within TLS.
func protocols(version string) []string {
	if version == "" {
		return []string{"h2", "http/1.1"}
	}
	return []string{"http/1.1"}
}

// close closes idle connections.
func (u *upstream) close() {
	u.transport.CloseIdleConnections()
	if u.direct != nil {
		u.direct.Close()
	}
}

func (c *Upstream) key() (string, error) {
	switch {
	case c.KeyEnv != "":
		key := os.Getenv(c.KeyEnv)
		if key == "" {
			return "", fmt.Errorf("key_env: the environment variable %s is not set", c.KeyEnv)
		}
		return goodKey(key)
	case c.KeyFile != "":
		b, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return "", fmt.Errorf("key_file: %w", err)
		}
		return goodKey(strings.TrimSpace(string(b)))
	}
	return "", nil
}

// goodKey refuses a key that no header can carry; its error does not repeat it.
func goodKey(key string) (string, error) {
	if !carriable(key) {
		return "", errors.New("the key is empty or has characters that no header can carry")
	}
	return key, nil
}

// carriable reports whether a key can stand in a header as it is.
func carriable(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (c *Upstream) trust() (*x509.CertPool, error) {
	if c.CACert == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CACert)
	if err != nil {
		return nil, fmt.Errorf("cacert: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cacert: %s holds no certificate in PEM form", c.CACert)
	}
	return pool, nil
}

// errNotAllowed is the refusal of an address outside allow.
var errNotAllowed = errors.New("the address is outside the upstream's allow ranges")

// control looks at the address that is dialled, after names were resolved: a
// name that resolves to something else later is caught too.
func (c *Upstream) control(_, address string, _ syscall.RawConn) error {
	if len(c.Allow) == 0 {
		return nil
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return errNotAllowed
	}
	for _, allowed := range c.Allow {
		if allowed.Contains(ap.Addr().Unmap().WithZone("")) {
			return nil
		}
	}
	return errNotAllowed
}

// warm opens the connections that are to be there before the first request. A
// service that is not there yet is found by the first request again.
func (u *upstream) warm(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, dialTimeout)
	defer stop()
	var all sync.WaitGroup
	for _, base := range u.URLs {
		for range u.Warm {
			all.Go(func() { u.warmOne(ctx, base) })
		}
	}
	all.Wait()
}

func (u *upstream) warmOne(ctx context.Context, base URL) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, base.String()+"/", nil)
	if err != nil {
		return
	}
	if u.direct != nil && !errors.Is(u.direct.Warm(ctx, req), http1.ErrHTTP2) {
		return
	}
	if resp, err := u.transport.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
	}
}
