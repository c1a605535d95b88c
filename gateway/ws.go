package gateway

import (
	"bufio"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// told is a ResponseWriter that takes what HTTP has no words for: the answer of
// one stream on a WebSocket. Everything else about such a stream is as of any
// request: it passes the same handler.
type told interface {
	http.ResponseWriter
	began(s *session)   // the request got its place
	beat() error        // instead of a heartbeat of the dialect
	refused(f *failure) // before the answer that says so
	lost(cause error)   // the answer is cut for this cause
}

// sockets are the WebSockets of a process, whatever configuration they began
// with: every question on them is served by the newest.
type sockets struct {
	front http.Handler // serves by the newest configuration; nil: there is but one

	mu      sync.Mutex
	all     map[*socket]struct{}
	taken   int // places, those of handshakes included
	closing bool
	drained bool
	running sync.WaitGroup
	stopped chan struct{} // closed with closing; nil before the first socket
}

// enter takes a place; false where there is none.
func (r *sockets) enter(most int, drain <-chan struct{}) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing || r.drained || most > 0 && r.taken >= most {
		return false
	}
	if r.stopped == nil {
		r.stopped = make(chan struct{})
		r.running.Go(func() { r.tend(drain) })
	}
	r.taken++
	r.running.Add(1)
	return true
}

func (r *sockets) leave(s *socket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, s)
	r.taken--
	r.running.Done()
}

// add makes a socket known that has its place.
func (r *sockets) add(s *socket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*socket]struct{}{}
	}
	r.all[s] = struct{}{}
	if r.closing || r.drained {
		r.running.Go(s.drain)
	}
}

// tend tells every socket when draining begins.
func (r *sockets) tend(drain <-chan struct{}) {
	select {
	case <-drain:
	case <-r.stopped:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drained = true
	for s := range r.all {
		r.running.Go(s.drain)
	}
}

// close ends all sockets and waits for them.
func (r *sockets) close() {
	r.mu.Lock()
	if !r.closing {
		r.closing = true
		if r.stopped != nil {
			close(r.stopped)
		}
	}
	for s := range r.all {
		s.last()
	}
	r.mu.Unlock()
	r.running.Wait()
}

// count is how many there are.
func (r *sockets) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// serveSocket upgrades a request to a WebSocket. What is refused is refused
// before the upgrade, with a status; browsers do not show it to their pages.
// handler is that of all requests.
func (g *Gateway) serveSocket(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	id := identify(r)
	c := g.c.WS
	f := g.refuseSocket(r, id)
	if f == nil && !g.sockets.enter(c.Sockets, g.drain) {
		f = &failure{reason: "overloaded_sockets", text: "the gateway has as many sockets as it may; try again later", status: http.StatusServiceUnavailable, retryable: true}
	}
	if f != nil {
		g.see.SocketRefused(f.reason)
		refuseOwn(w, id, f)
		return
	}
	s := newSocket(g, r, id)
	s.handler = handler
	if g.sockets.front != nil {
		s.handler = g.sockets.front
	}
	conn, err := websocket.Accept(&upgrading{w, s}, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin was looked at; the library would let in pages of the same host
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		g.see.SocketRefused("handshake")
		g.sockets.leave(s) // the answer is given
		return
	}
	conn.SetReadLimit(int64(c.Message))
	s.conn = conn
	g.see.SocketOpened()
	g.sockets.add(s)
	go s.run() // the handler returns: its stack and buffers are more than a silent socket needs
}

// refuseSocket looks at a handshake.
func (g *Gateway) refuseSocket(r *http.Request, id identity) *failure {
	switch {
	case r.URL.RawQuery != "":
		return &failure{reason: "query", text: "a socket's address has no query: what stands there ends in logs; show a key in a header or in the first message", status: http.StatusBadRequest}
	case !originAllowed(r.Header["Origin"], slices.Concat(g.c.Origins, g.c.WS.Origins)):
		return &failure{reason: "origin", text: "pages of this origin may not connect; ws.origins and origins list those that may", status: http.StatusForbidden}
	case id.keyed && !g.keys.admits(id.principal):
		return noKey()
	case !g.Ready():
		return &failure{reason: "draining", text: "the gateway is closing and takes no new sockets", status: http.StatusServiceUnavailable, retryable: true, after: comeAgain()}
	}
	return nil
}

// originAllowed lets in who is no page, and pages of listed origins. Those of
// the gateway's own host are no exception: on a name that resolves to it any
// page could be one.
func originAllowed(origin, allowed []string) bool {
	return len(origin) == 0 || len(origin) == 1 && slices.Contains(allowed, origin[0])
}

// upgrading hands the library a connection of ours instead of the server's.
type upgrading struct {
	http.ResponseWriter
	s *socket
}

// Buffers of a socket. A read or a write that is larger passes them by.
const (
	readBuffer  = 1 << 10
	writeBuffer = 2 << 10
)

// Hijack implements http.Hijacker.
func (u *upgrading) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	ahead, _ := rw.Reader.Peek(rw.Reader.Buffered()) // what is buffered can be looked at
	line := &line{Conn: conn, ahead: slices.Clone(ahead), timeout: u.s.g.c.WS.WriteTimeout}
	u.s.line = line
	return line, bufio.NewReadWriter(bufio.NewReaderSize(line, readBuffer), bufio.NewWriterSize(line, writeBuffer)), nil
}

// line is a socket's connection. Each write has its time, after which the
// client is one that does not read.
type line struct {
	net.Conn
	ahead   []byte // what the server had read of it already
	timeout time.Duration
	limit   time.Time // write deadline in force
	broke   atomic.Bool
}

// Read implements net.Conn.
func (l *line) Read(p []byte) (int, error) {
	if len(l.ahead) > 0 {
		n := copy(p, l.ahead)
		if l.ahead = l.ahead[n:]; len(l.ahead) == 0 {
			l.ahead = nil
		}
		return n, nil
	}
	return l.seen(l.Conn.Read(p))
}

// seen notes that the connection is over.
func (l *line) seen(n int, err error) (int, error) {
	if err != nil {
		l.broke.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (l *line) Write(p []byte) (int, error) {
	if moved(&l.limit, time.Now(), l.timeout) {
		_ = l.SetWriteDeadline(l.limit) // a connection that is closed says so below
	}
	return l.seen(l.Conn.Write(p))
}
