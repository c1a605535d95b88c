package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/relay"
	"weir/stream"
)

// Options are what a gateway works with. The zero value works: nothing is
// kept, counted or logged.
type Options struct {
	Sink     stream.Sink  // takes the record of every stream
	Observer Observer     // counts
	Log      relay.Log    // keeps the frames of resumable streams; nil: none is resumable
	Queue    relay.Queue  // brings requests to workers, and Log their answers; nil: this process asks the services
	Logger   *slog.Logger // of the gateway's own doings; no text, no keys
	Version  string

	attendant relay.Attendant // told what other instances ask, instead of the gateway: a worker
}

// Gateway serves one configuration. Streams in flight keep theirs when another
// Gateway takes over; Front has one take over from the other.
type Gateway struct {
	*common
	c      Config
	o      Options
	log    *slog.Logger
	see    Observer
	ups    map[string]*upstream
	routes []*route
	keys   *keyring
	edge   *edge            // nil: this process asks the services itself
	cert   *tls.Certificate // shown to clients; nil: in the clear

	ctx     context.Context // of streams that outlive their request
	end     context.CancelCauseFunc
	running sync.WaitGroup
	drains  atomic.Int64 // answers of services that are read on after their last event
}

// common is what a process's gateways have in common, whatever configuration
// they serve: a stream of an old one counts in the new one's limits, and can be
// stopped, followed and looked up there.
type common struct {
	gate     *gate
	rates    *rates // output per key
	streams  registry
	sockets  sockets
	done     *finished
	recorded atomic.Int64  // requests with records so far
	drain    chan struct{} // closed when draining begins
	once     sync.Once
}

func newCommon(l Limits) *common {
	return &common{gate: newGate(l), rates: newRates(l.OutputPerKey), done: newFinished(), drain: make(chan struct{})}
}

// errClosing is the cause of what ends because the gateway does.
var errClosing = errors.New("the gateway is closing")

// New prepares a gateway: it reads keys, certificates and custom dialects, and
// opens the connections that are to be warm.
func New(c Config, o Options) (*Gateway, error) { return newGateway(c, o, newCommon(c.Limits)) }

func newGateway(c Config, o Options, all *common) (*Gateway, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	g := &Gateway{common: all, c: c, o: o, log: o.Logger, see: o.Observer}
	all.attend(o)
	var err error
	if o.Queue != nil {
		if g.edge, err = newEdge(o, &c); err != nil {
			return nil, err
		}
	}
	if g.keys, err = newKeyring(c.Keys); err != nil {
		return nil, err
	}
	if g.ups, err = newUpstreams(c.Upstreams); err != nil {
		return nil, err
	}
	if g.routes, err = newRoutes(&c, g.ups); err != nil {
		return nil, err
	}
	if g.cert, err = c.TLS.load(); err != nil {
		return nil, err
	}
	g.ctx, g.end = context.WithCancelCause(context.Background())
	for _, u := range g.ups {
		g.running.Go(func() { u.warm(g.ctx) })
	}
	return g, nil
}

// Handler serves clients: the routes, and the gateway's own paths below /weir/.
func (g *Gateway) Handler() http.Handler {
	own := http.NewServeMux()
	add := func(pattern string, h http.HandlerFunc) { own.HandleFunc(pattern, g.counted(pattern, h)) }
	add("GET "+ownPrefix+"records/{id}", g.serveRecord)
	add("POST "+ownPrefix+"streams/{id}/stop", g.serveStop)
	var all http.Handler
	if g.c.WS.Enabled {
		add("GET "+ownPrefix+"ws", func(w http.ResponseWriter, r *http.Request) { g.serveSocket(w, r, all) })
	}
	if g.o.Log != nil {
		add("GET "+ownPrefix+"streams/{id}", g.serveStream)
		own.HandleFunc("GET "+ownResponse, g.serveResponse) // which counts what it answers itself
	}
	all = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.admitsPage(w, r) {
			return
		}
		if _, pattern := own.Handler(r); pattern != "" {
			skipBody(w, r) // none of them reads one
			own.ServeHTTP(w, r)
			return
		}
		g.serve(w, r)
	})
	return all
}

// Drain stops taking requests and waits for those in flight, until ctx ends;
// its error says how many were left then.
func (s *common) Drain(ctx context.Context) error {
	s.stopTaking()
	return s.gate.idle(ctx)
}

// stopTaking begins the drain: Ready is false from now on.
func (s *common) stopTaking() { s.once.Do(func() { close(s.drain) }) }

// Ready reports whether requests are taken.
func (s *common) Ready() bool {
	select {
	case <-s.drain:
		return false
	default:
		return true
	}
}

// Close ends every stream with an error frame and frees what the gateway holds.
func (g *Gateway) Close() {
	g.stopTaking()
	g.common.stop()
	g.free(errClosing)
}

// stop ends every stream with an error frame, and gives each a second to write
// it.
func (s *common) stop() {
	for _, l := range s.streams.all() {
		l.stop("shutdown")
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = s.gate.idle(ctx) // those that do not write their last frame by then are cut
	s.sockets.close()
}

// free ends what still runs, and gives back what the gateway holds.
func (g *Gateway) free(cause error) {
	g.end(cause)
	g.running.Wait()
	for _, u := range g.ups {
		u.close()
	}
}
