package probe

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"weir/http1"
	"weir/stream"
	"weir/wire"
	"weir/ws"
)

// webSocket carries requests to a gateway's routes over its WebSocket, one at a
// time. Events become the SSE that the tap reads, so that a record is made of
// them as of any other stream.
type webSocket struct {
	o       Options
	u       *url.URL // of the gateway
	s       *http1.Sock
	line    *stampedLine
	tlsName string
	conn    *websocket.Conn // nil before the first request: its handshake carries the key
	key     http.Header
	asked   int

	ending
	ctx  context.Context // of the request
	late atomic.Bool     // a time of ours ended it

	id     string
	seen   int64 // socket reads as of the last message
	next   []byte
	buf    []byte
	ended  error // once the end came; io.EOF where it is a proper one
	broken bool
}

// ours are the stamps of a socket's reads, below TLS.
type stampedLine struct {
	net.Conn
	reads atomic.Int64
	last  atomic.Int64 // Unix ns
}

func (l *stampedLine) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.last.Store(time.Now().UnixNano())
	l.reads.Add(1)
	return n, err
}

func dialWebSocket(ctx context.Context, d *dialer, u *url.URL, ph *stream.Phases) (*webSocket, error) {
	s, err := d.Connect(ctx, http1.HostPort(u), ph)
	if err != nil {
		return nil, err
	}
	c := &webSocket{o: d.o, s: s, u: &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/weir/ws"}}
	if u.Scheme == "https" {
		t, err := d.handshake(ctx, s, u.Hostname(), "http/1.1", ph)
		if err != nil {
			return nil, err
		}
		c.tlsName = tls.VersionName(t.ConnectionState().Version)
		c.line = &stampedLine{Conn: t}
	} else {
		c.line = &stampedLine{Conn: s}
	}
	return c, nil
}

// open makes the handshake.
func (c *webSocket) open(ctx context.Context, key http.Header) (*http.Response, error) {
	once := func(context.Context, string, string) (net.Conn, error) { return c.line, nil }
	tr := &http.Transport{DialContext: once, DialTLSContext: once, ReadBufferSize: http1.ReadSize, MaxResponseHeaderBytes: int64(c.o.HeaderLimit)}
	conn, resp, err := websocket.Dial(ctx, c.u.String(), &websocket.DialOptions{HTTPClient: &http.Client{Transport: tr}, HTTPHeader: key.Clone()})
	if err != nil {
		c.broken = true
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return resp, nil
		}
		return nil, err
	}
	limit := c.o.FrameLimit
	if limit == 0 {
		limit = wire.DefaultFrameLimit
	}
	conn.SetReadLimit(int64(limit)*6 + 64<<10) // a JSON string may be six times its data
	c.conn, c.key = conn, key
	m, err := c.message(ctx)
	if _, ok := m.(*ws.Hello); err == nil && !ok {
		err = errors.New("the first message of the socket was no hello")
	}
	return nil, err
}

// Send implements carrier: it asks, and waits for the answer's head.
func (c *webSocket) Send(ctx context.Context, req *http.Request, w *window) (*http.Response, error) {
	c.begin(ctx, w)
	res, err := c.send(req, w)
	if err == nil {
		return res, nil
	}
	c.broken = true
	if c.late.Load() || errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(err, context.DeadlineExceeded)
	}
	c.over()
	return nil, err
}

func (c *webSocket) begin(ctx context.Context, w *window) {
	ctx, cancel := context.WithDeadline(ctx, w.Deadline)
	c.ctx = ctx
	c.begun(cancel)
	c.ended, c.next = nil, nil
	c.late.Store(false)
}

func (c *webSocket) send(req *http.Request, w *window) (*http.Response, error) {
	key, start, err := c.question(req)
	if err != nil {
		return nil, err
	}
	if c.conn == nil {
		if res, err := c.open(c.ctx, key); res != nil || err != nil {
			return c.refused(res, err, w)
		}
	} else if !sameKey(c.key, key) {
		return nil, http1.ErrNoResponse // a socket has one key: another socket is needed
	}
	p, err := ws.Encode(start)
	if err != nil {
		return nil, err
	}
	if err := c.conn.Write(c.ctx, websocket.MessageText, p); err != nil {
		return nil, err
	}
	w.Phases.RequestWritten = stream.Some(time.Since(w.T0))
	if w.Head > 0 {
		timer := time.AfterFunc(w.Head, c.expire)
		defer timer.Stop()
	}
	for {
		m, err := c.message(c.ctx)
		if err != nil {
			return nil, err
		}
		if res := c.head(m); res != nil {
			w.HeadAt.App = c.stamp()
			w.Phases.Headers = stream.Some(w.HeadAt.App.Sub(w.T0))
			return res, nil
		}
	}
}

// question is what the socket is asked. The key goes with the handshake.
func (c *webSocket) question(req *http.Request) (key http.Header, start ws.Start, err error) {
	c.asked++
	c.id = strconv.Itoa(c.asked)
	start = ws.Start{ID: c.id, Path: req.URL.RequestURI(), Method: req.Method, Headers: map[string]string{}}
	key = http.Header{}
	for name, v := range req.Header {
		switch name {
		case "Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key":
			key[name] = v
		case "Accept-Encoding", "Connection", "Host", "Content-Length", "Cookie":
		default:
			start.Headers[name] = strings.Join(v, ", ")
		}
	}
	if req.Body == nil {
		return key, start, nil
	}
	defer func() { _ = req.Body.Close() }()
	start.Body, err = io.ReadAll(req.Body)
	switch {
	case err != nil:
	case len(start.Body) == 0:
		start.Body = nil
	case !json.Valid(start.Body):
		err = errors.New("over a WebSocket a request's body must be JSON")
	}
	return key, start, err
}

func sameKey(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if a.Get(name) != b.Get(name) {
			return false
		}
	}
	return true
}

// refused is a handshake that was answered with a status.
func (c *webSocket) refused(res *http.Response, err error, w *window) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	c.next, _ = io.ReadAll(io.LimitReader(res.Body, errorBody)) // what could be read of it
	c.ended = io.EOF
	w.HeadAt.App = c.stamp()
	w.Phases.Headers = stream.Some(w.HeadAt.App.Sub(w.T0))
	return res, nil
}

// head makes of an open, or of an end or an error that came instead, what an
// HTTP server would have answered; nil for any other message.
func (c *webSocket) head(m any) *http.Response {
	res := &http.Response{Proto: "WebSocket", Header: http.Header{}, Body: http.NoBody}
	switch m := m.(type) {
	case *ws.Open:
		res.StatusCode = m.Status
		for name, v := range map[string]string{"Content-Type": streamType(m), "X-Request-Id": m.RequestID, "Server-Timing": m.ServerTiming, "Weir-Stream": m.Stream} {
			if v != "" {
				res.Header.Set(name, v)
			}
		}
		return res
	case *ws.End:
		res.StatusCode = max(m.Status, http.StatusBadGateway*zero(m.Status))
		c.next = complaintOf(m.Reason, m.Message)
		if m.RetryAfterMs > 0 {
			res.Header.Set("Retry-After", strconv.FormatInt((m.RetryAfterMs+999)/1000, 10))
		}
	case *ws.Error:
		res.StatusCode = http.StatusBadRequest
		c.next = complaintOf(m.Reason, m.Message)
	default:
		return nil
	}
	c.ended = io.EOF
	res.Header.Set("Content-Type", "application/json")
	return res
}

// zero is 1 for 0, else 0.
func zero(n int) int {
	if n == 0 {
		return 1
	}
	return 0
}

// streamType is that of what Next gives out: whatever framing the service has,
// its events come as SSE.
func streamType(m *ws.Open) string {
	if kind := wire.Sniff(m.ContentType, nil); m.Stream != "" || m.ContentType != "" && kind != "body" {
		return "text/event-stream"
	}
	return m.ContentType
}

func complaintOf(reason, message string) []byte {
	b, _ := json.Marshal(map[string]any{"error": map[string]string{"type": reason, "message": message}}) // texts: it can
	return b
}

// Next implements carrier. Messages that one read of the socket brought are
// reads that did not wait: one arrival.
func (c *webSocket) Next() (*arrived, error) {
	if len(c.next) > 0 || c.ended != nil {
		a := &arrived{Data: c.next, App: c.stamp(), Waited: true}
		c.next = nil
		return a, c.settle(c.ended)
	}
	for {
		m, err := c.message(c.ctx)
		a := c.arrival()
		if err != nil {
			c.broken = true
			if c.late.Load() {
				err = errors.Join(err, context.DeadlineExceeded)
			}
			return a, c.settle(err)
		}
		a.Data, err = c.bytes(m)
		if len(a.Data) > 0 || err != nil {
			return a, c.settle(err)
		}
	}
}

// arrival is when the newest message came.
func (c *webSocket) arrival() *arrived {
	a := &arrived{App: c.stamp(), Waited: true}
	if reads := c.line.reads.Load(); reads == c.seen {
		a.Waited, a.Since = false, stream.Some(time.Duration(0))
	} else {
		c.seen = reads
	}
	return a
}

func (c *webSocket) stamp() time.Time {
	now := time.Now()
	return now.Add(-now.Sub(time.Unix(0, c.line.last.Load()))) // with the monotonic clock of now
}

// bytes is a message as SSE, or as the piece of a body that it is.
func (c *webSocket) bytes(m any) ([]byte, error) {
	c.buf = c.buf[:0]
	switch m := m.(type) {
	case *ws.Event:
		data, ok := m.Bytes()
		e := wire.SSEEvent{Event: m.Event, ID: m.EventID}
		if ok {
			e.Data = append([]byte{}, data...)
		}
		b, err := wire.AppendSSE(c.buf, e)
		c.buf = b
		return b, err
	case *ws.Heartbeat:
		b, err := wire.AppendComment(c.buf, m.Text)
		c.buf = b
		return b, err
	case *ws.Body:
		return m.Bytes()
	case *ws.End:
		if m.Outcome == "broken" || m.Outcome == "left" {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, io.EOF
	}
	return nil, nil
}

// message waits for the next message of this stream, or of the socket.
func (c *webSocket) message(ctx context.Context) (any, error) {
	for {
		kind, p, err := c.conn.Read(ctx)
		var closed websocket.CloseError
		switch {
		case errors.As(err, &closed):
			return nil, fmt.Errorf("the socket was closed with %d %.120q: %w", closed.Code, closed.Reason, io.ErrUnexpectedEOF)
		case err != nil:
			return nil, err
		case kind != websocket.MessageText:
			return nil, errors.New("a binary message came on the socket")
		}
		m, err := ws.Decode("gateway", p)
		if err != nil {
			return nil, err
		}
		if _, drains := m.(*ws.DrainHint); drains {
			c.broken = true // for the next request, not for this one
			continue
		}
		return m, nil
	}
}

// settle ends the request where err says that it is over.
func (c *webSocket) settle(err error) error {
	if err != nil {
		c.broken = c.broken || err != io.EOF
		c.ended = err
		c.over()
	}
	return err
}

// expire ends the request because its time is over.
func (c *webSocket) expire() {
	c.late.Store(true)
	c.Interrupt()
}

// grace implements carrier.
func (c *webSocket) grace(t time.Time) { c.after(t, c.expire) }

func (c *webSocket) facts() lower {
	return lower{stamp: stream.StampSocket, tls: c.tlsName, remote: c.s.RemoteAddr().String()}
}

// OutOfOrder implements carrier.
func (c *webSocket) OutOfOrder() stream.Maybe[int] { return c.s.OutOfOrder() }

// Usable implements carrier.
func (c *webSocket) Usable() bool { return !c.broken && c.conn != nil && c.ended == io.EOF }

// Close implements carrier.
func (c *webSocket) Close() {
	c.over()
	if c.conn != nil {
		_ = c.conn.CloseNow() // it may be closed
	}
	_ = c.s.Close()
}
