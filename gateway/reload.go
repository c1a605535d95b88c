package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Front serves a configuration until another takes its place. Requests in
// flight keep the one they began with, count in the limits of the new, and are
// stopped, followed and looked up as before. An old configuration's connections
// and goroutines are freed when its last request ends.
type Front struct {
	all *common
	o   Options

	changing sync.Mutex                // one change at a time
	check    atomic.Pointer[selfcheck] // that runs; nil: none

	mu    sync.Mutex
	now   *generation
	older []*generation // not yet freed
}

// generation is a configuration in use.
type generation struct {
	g       *Gateway
	handler http.Handler
	uses    int           // handlers that run
	unused  chan struct{} // closed when it is an old one and uses is 0
	old     bool
}

func newGeneration(g *Gateway) *generation {
	return &generation{g: g, handler: g.Handler(), unused: make(chan struct{})}
}

// NewFront is New for a configuration that may change while it runs.
func NewFront(c Config, o Options) (*Front, error) {
	all := newCommon(c.Limits)
	g, err := newGateway(c, o, all)
	if err != nil {
		return nil, err
	}
	f := &Front{all: all, o: g.o, now: newGeneration(g)}
	all.sockets.front = f
	return f, nil
}

// ServeHTTP serves a request by the newest configuration.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c := f.check.Load(); c != nil && r.URL.Path == ownPrefix+"check/"+c.token {
		c.serve(w, r)
		return
	}
	gen := f.enter()
	defer f.leave(gen)
	gen.handler.ServeHTTP(w, r)
}

func (f *Front) enter() *generation {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now.uses++
	return f.now
}

func (f *Front) leave(gen *generation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gen.uses--
	gen.closeUnused()
}

func (gen *generation) closeUnused() {
	if gen.old && gen.uses == 0 {
		close(gen.unused)
	}
}

// Reload puts a configuration in the place of the present one. Its keys,
// certificates and dialects are read first: with an error nothing has changed.
func (f *Front) Reload(c Config) error {
	f.changing.Lock()
	defer f.changing.Unlock()
	if !f.all.Ready() {
		return errors.New("the gateway is closing; its configuration stays")
	}
	if err := fixed(f.current().c, c); err != nil {
		return err
	}
	g, err := newGateway(c, f.o, f.all)
	if err != nil {
		return err
	}
	f.mu.Lock()
	old := f.now
	f.now = newGeneration(g)
	f.older = append(f.older, old)
	old.old = true
	old.closeUnused()
	f.mu.Unlock()
	f.all.gate.limit(c.Limits)
	f.all.rates.set(c.Limits.OutputPerKey)
	go f.retire(old)
	return nil
}

// retire frees an old configuration once nobody uses it: no handler, and no
// stream that goes on without one.
func (f *Front) retire(gen *generation) {
	began := time.Now()
	<-gen.unused // after it nothing new begins to run
	gen.g.running.Wait()
	gen.g.free(nil)
	f.mu.Lock()
	f.older = slices.DeleteFunc(f.older, func(o *generation) bool { return o == gen })
	f.mu.Unlock()
	gen.g.log.LogAttrs(context.Background(), slog.LevelInfo, "the last request of a former configuration has ended", slog.Duration("after", time.Since(began)))
}

func (f *Front) current() *Gateway {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now.g
}

// Former is how many old configurations still have requests.
func (f *Front) Former() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.older)
}

// Certificate is the present one, for tls.Config.GetCertificate.
func (f *Front) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := f.current().cert; cert != nil {
		return cert, nil
	}
	return nil, errors.New("the gateway has no certificate")
}

// Drain stops taking requests and waits for those in flight, until ctx ends;
// its error says how many were left then.
func (f *Front) Drain(ctx context.Context) error { return f.all.Drain(ctx) }

// Ready reports whether requests are taken.
func (f *Front) Ready() bool { return f.all.Ready() }

// InFlight is how many requests have a place.
func (f *Front) InFlight() int { return f.all.gate.count() }

// Close ends every stream with an error frame and frees what all configurations
// hold.
func (f *Front) Close() {
	f.changing.Lock()
	defer f.changing.Unlock()
	f.all.stopTaking()
	f.all.stop()
	f.mu.Lock()
	every := append(slices.Clone(f.older), f.now)
	f.mu.Unlock()
	for _, gen := range every {
		gen.g.end(errClosing)
	}
	for _, gen := range every {
		gen.g.free(errClosing)
	}
}

// changeable are the sections of a configuration that a running gateway can
// take up. All others are bound to what it opened at its start.
var changeable = []string{"tls", "origins", "upstreams", "routes", "limits", "keys"} //nolint:gochecknoglobals // a constant in all but syntax

// fixed refuses a configuration that only a restart can bring.
func fixed(old, c Config) error {
	a, b := reflect.ValueOf(old), reflect.ValueOf(c)
	for i := range a.NumField() {
		key, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("yaml"), ",")
		if !slices.Contains(changeable, key) && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return fmt.Errorf("%s cannot change while the gateway runs; restart it", key)
		}
	}
	if (old.TLS.Cert == "") != (c.TLS.Cert == "") {
		return errors.New("tls cannot be switched on or off while the gateway runs; restart it")
	}
	return nil
}

// load reads the certificate; nil where there is none.
func (t TLS) load() (*tls.Certificate, error) {
	if t.Cert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: %s and %s: %w", t.Cert, t.Key, err)
	}
	return &cert, nil
}
