package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"weir/ws"
)

// socket is one client's WebSocket. Its goroutine reads; a goroutine for each
// stream writes, one message at a time. Nothing waits for the client but what
// the streams' own queues hold.
type socket struct {
	g       *Gateway // of the handshake; questions are served by the newest
	conn    *websocket.Conn
	line    *line
	handler http.Handler // answers its questions
	host    string
	remote  string
	began   time.Time
	ctx     context.Context // of its streams
	end     context.CancelCauseFunc

	keys   http.Header // the headers with the client's key
	authed bool        // it has shown one, or need not

	turns   map[string]*turn // by the client's name; those that ended too, for their next turn
	order   []string         // of turns, oldest first
	started int              // for the log

	mu       sync.Mutex
	active   int   // turns that run
	kept     int64 // bytes of bodies kept for a next turn
	draining bool
	streams  sync.WaitGroup

	once   sync.Once
	closed chan struct{} // when a close that we began is over, or none will begin
	code   ws.Code       // of that close; 0 = there was none
	pinger *time.Timer
	late   *time.Timer // ends a socket that shows no key
}

// closeWait is how long the other side may take to answer a close.
const closeWait = 2 * time.Second

func newSocket(g *Gateway, r *http.Request, id identity) *socket {
	s := &socket{g: g, host: r.Host, remote: r.RemoteAddr, began: time.Now(), keys: http.Header{}, closed: make(chan struct{}), authed: g.keys.open || id.keyed}
	for _, name := range keyHeaders {
		if v := one(r.Header, name); v != "" {
			s.keys[name] = []string{v}
		}
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// run reads until the socket ends, and ends what it began.
func (s *socket) run() {
	defer s.g.sockets.leave(s)
	defer s.guard()
	if ping := s.g.c.WS.Ping; ping > 0 {
		s.pinger = time.AfterFunc(time.Hour, s.ping)
		s.pinger.Reset(ping)
		defer s.pinger.Stop()
	}
	if !s.authed {
		s.late = time.AfterFunc(s.g.c.WS.AuthWait, func() { s.shut(ws.Unauth, 0) })
		defer s.late.Stop()
	}
	err := s.talk()
	s.end(errClientGone)
	s.streams.Wait()
	s.once.Do(func() { close(s.closed) })
	<-s.closed
	_ = s.conn.CloseNow() // it may be closed
	code, by := s.over(err)
	if code == ws.TooBig && by == byGateway {
		s.g.see.MessageRefused(code.String())
	}
	s.g.see.SocketClosed(int(code), by)
	s.g.log.LogAttrs(context.Background(), slog.LevelInfo, "websocket", slog.Int("streams", s.started),
		slog.String("ended", by+": "+code.String()), slog.Duration("took", time.Since(s.began)))
}

// talk reads until the socket ends.
func (s *socket) talk() (err error) {
	defer func() {
		if s.failed(recover()) {
			err = errShut
		}
	}()
	err = s.hello()
	for err == nil {
		err = s.read()
	}
	return err
}

// guard is deferred on the goroutines of a socket.
func (s *socket) guard() { s.failed(recover()) }

// failed ends the socket where p is a panic.
func (s *socket) failed(p any) bool {
	if p == nil {
		return false
	}
	s.g.crashed("socket", "", p)
	s.shut(ws.Broken, 0)
	return true
}

// Who ended a socket.
const (
	byClient     = "client"
	byGateway    = "gateway"
	byConnection = "connection"
)

// The close codes of RFC 6455 that nobody here chooses.
const (
	protocolError ws.Code = 1002
	abnormal      ws.Code = 1006
)

// over is how a socket ended, without what the client wrote as its reason. What
// the library itself refuses it has closed with 1002; its error has no name.
func (s *socket) over(err error) (ws.Code, string) {
	var c websocket.CloseError
	switch {
	case s.code != 0:
		return s.code, byGateway
	case errors.As(err, &c):
		return ws.Code(c.Code), byClient
	case errors.Is(err, websocket.ErrMessageTooBig):
		return ws.TooBig, byGateway
	case s.line.broke.Load():
		return abnormal, byConnection
	}
	return protocolError, byGateway
}

func (s *socket) hello() error {
	c := s.g.c.WS
	h := ws.Hello{Protocol: ws.Protocol, Auth: "optional", Message: int64(c.Message), Streams: c.Streams, PingMs: c.Ping.Milliseconds()}
	switch {
	case len(s.keys) > 0:
		h.Auth = "done"
	case !s.authed:
		h.Auth = "needed"
	}
	return s.send(h)
}

// errShut is of a socket that we ended.
var errShut = errors.New("gateway")

// read takes one message. An error ends the socket.
func (s *socket) read() error {
	kind, r, err := s.conn.Reader(context.Background())
	if err != nil {
		return err
	}
	if kind != websocket.MessageText {
		s.g.see.MessageRefused(ws.Binary.String())
		s.shut(ws.Binary, 0)
		return fmt.Errorf("%w: %s", errShut, ws.Binary)
	}
	p, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m, err := ws.Decode("client", p)
	if err != nil {
		s.g.see.MessageRefused(ws.BadMessage.String())
		_ = s.send(ws.Error{Code: ws.BadMessage, Reason: "bad_message", Message: err.Error()}) // the close says the same
		s.shut(ws.BadMessage, 0)
		return fmt.Errorf("%w: %s", errShut, ws.BadMessage)
	}
	return s.handle(m)
}

func (s *socket) handle(m any) error {
	if a, ok := m.(*ws.Auth); ok {
		return s.auth(a.Key)
	}
	if !s.authed {
		s.g.see.MessageRefused(ws.Unauth.String())
		_ = s.send(ws.Error{Code: ws.Unauth, Reason: "unauthorized", Message: "show a key first: {\"type\":\"auth\",\"key\":…}"})
		s.shut(ws.Unauth, 0)
		return fmt.Errorf("%w: %s", errShut, ws.Unauth)
	}
	switch m := m.(type) {
	case *ws.Ping:
		return s.send(ws.Pong{Data: m.Data})
	case *ws.Start:
		return s.answer(m.ID, s.start(m))
	case *ws.Append:
		return s.answer(m.ID, s.append(m))
	case *ws.Resume:
		return s.answer(m.ID, s.resume(m))
	case *ws.Cancel:
		return s.answer(m.ID, s.stopTurn(m.ID, true))
	case *ws.Leave:
		return s.answer(m.ID, s.stopTurn(m.ID, false))
	}
	return nil
}

// no is why a message was not followed.
type no struct{ reason, text string }

// answer tells the client what could not be done.
func (s *socket) answer(id string, n *no) error {
	if n == nil {
		return nil
	}
	s.g.see.MessageRefused(n.reason)
	if !ws.GoodID(id) {
		id = ""
	}
	return s.send(ws.Error{ID: id, Code: ws.BadMessage, Reason: n.reason, Message: n.text})
}

// auth takes a key as the handshake would have.
func (s *socket) auth(key string) error {
	switch {
	case len(s.keys) > 0 || len(s.turns) > 0:
		return s.answer("", &no{"auth", "a socket shows one key, before anything else"})
	case !carriable(key) || len(key) > mostKey:
		return s.answer("", &no{"auth", "that cannot be a key"})
	case !s.g.keys.admits(sha256.Sum256([]byte(key))):
		s.g.see.MessageRefused(ws.Unauth.String())
		_ = s.send(ws.Error{Code: ws.Unauth, Reason: "unauthorized", Message: "a key that the gateway knows is needed"})
		s.shut(ws.Unauth, 0)
		return fmt.Errorf("%w: %s", errShut, ws.Unauth)
	}
	s.keys["Authorization"] = []string{"Bearer " + key}
	s.authed = true
	if s.late != nil {
		s.late.Stop()
	}
	return s.send(ws.Ready{})
}

// mostKey is the longest key that a socket takes, in bytes.
const mostKey = 8 << 10

// send writes a message of the socket's own.
func (s *socket) send(m any) error {
	p, err := ws.Encode(m)
	if err != nil {
		return err
	}
	return s.write(p)
}

// write writes one message. What fails ends the socket: the client may have
// half of it.
func (s *socket) write(p []byte) error {
	err := s.conn.Write(context.Background(), websocket.MessageText, p) // the line has a deadline
	if err != nil {
		s.end(errClientGone)
		_ = s.line.Close() // the reader sees it
	}
	return err
}

// ping looks whether the client is there.
func (s *socket) ping() {
	defer s.guard()
	every := s.g.c.WS.Ping
	ctx, cancel := context.WithTimeout(s.ctx, every)
	defer cancel()
	if s.conn.Ping(ctx) != nil {
		s.shut(ws.Stalled, 0)
		return
	}
	if s.ctx.Err() == nil {
		s.pinger.Reset(every)
	}
}

// shut closes the socket with a code. after, where it is over 0, is when to
// come back.
func (s *socket) shut(code ws.Code, after time.Duration) {
	reason := code.String()
	if after > 0 {
		reason = fmt.Sprintf("%s retry_after_ms=%d", reason, after.Milliseconds())
	}
	s.once.Do(func() {
		s.code = code
		go func() {
			defer close(s.closed)
			cut := time.AfterFunc(closeWait, func() { _ = s.line.Close() })
			defer cut.Stop()
			_ = s.conn.Close(websocket.StatusCode(code), reason) // whoever is gone needs no close
			_ = s.line.Close()
		}()
	})
}

// last closes the socket when its streams' ends are sent: the gateway has ended
// them. What takes too long is cut.
func (s *socket) last() {
	after := comeAgain()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	if s.active == 0 {
		s.shut(ws.Drain, after)
		return
	}
	time.AfterFunc(lastWait, func() { s.shut(ws.Drain, after) })
}

// drain says that the gateway closes, and closes the socket once nothing runs
// on it.
func (s *socket) drain() {
	defer s.guard()
	after := comeAgain()
	s.mu.Lock()
	s.draining = true
	idle := s.active == 0
	s.mu.Unlock()
	if s.send(ws.DrainHint{RetryAfterMs: after.Milliseconds()}) != nil || idle {
		s.shut(ws.Drain, after)
	}
}
