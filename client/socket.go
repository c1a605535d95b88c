package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"weir/ws"
)

// Socket is a gateway's WebSocket: several streams, and several turns of each,
// over one connection. Its messages are those of package ws. It does not come
// back by itself: Ask and Follow do.
type Socket struct {
	Hello ws.Hello // the gateway's first message
	conn  *websocket.Conn
}

// socketPath is where a gateway has its WebSocket.
const socketPath = "/weir/ws"

// mostMessage bounds what a gateway may send in one message beyond an event's
// own size: its JSON string can be six times as long.
const mostMessage = 6

// Dial opens a gateway's WebSocket. url is ws:// or wss://; without a path it is
// that of /weir/ws. A key goes into o.Header, as for HTTP. Its error is a
// *StatusError where the gateway refused.
func Dial(ctx context.Context, url string, o Options) (*Socket, error) {
	o = o.filled()
	at, err := socketURL(url)
	if err != nil {
		return nil, err
	}
	conn, resp, err := websocket.Dial(ctx, at.String(), &websocket.DialOptions{HTTPClient: o.HTTP, HTTPHeader: o.Header.Clone()}) //nolint:bodyclose // the library keeps or closes it
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, statusError(resp)
		}
		return nil, fmt.Errorf("the socket cannot be opened: %w", err)
	}
	conn.SetReadLimit(int64(o.FrameLimit)*mostMessage + 64<<10)
	s := &Socket{conn: conn}
	m, err := s.Receive(ctx)
	hello, ok := m.(*ws.Hello)
	if err == nil && !ok {
		err = fmt.Errorf("%w: its first message is no hello", ErrNoStream)
	}
	if err != nil {
		_ = conn.CloseNow() // it is of no use
		return nil, err
	}
	s.Hello = *hello
	return s, nil
}

func socketURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return nil, errors.New("the address of a socket begins with ws:// or wss://")
	}
	if u.RawQuery != "" || u.User != nil {
		return nil, errors.New("the address of a socket has neither a query nor a user: a key goes into a header")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = socketPath
	}
	return u, nil
}

// Send sends a message, such as ws.Start.
func (s *Socket) Send(ctx context.Context, message any) error {
	p, err := ws.Encode(message)
	if err != nil {
		return err
	}
	return s.conn.Write(ctx, websocket.MessageText, p)
}

// Receive waits for the next message: a pointer to a type of package ws. The
// end of the context ends the socket. Its error is a *CloseError where the
// gateway closed it.
func (s *Socket) Receive(ctx context.Context) (any, error) {
	kind, p, err := s.conn.Read(ctx)
	var c websocket.CloseError
	switch {
	case errors.As(err, &c):
		return nil, &CloseError{Code: ws.Code(c.Code), Reason: c.Reason}
	case err != nil:
		return nil, err
	case kind != websocket.MessageText:
		return nil, fmt.Errorf("%w: a binary message came", ErrNoStream)
	}
	m, err := ws.Decode("gateway", p)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStream, err)
	}
	return m, nil
}

// Close ends the socket, and with it every stream that cannot be resumed.
func (s *Socket) Close() error { return s.conn.Close(websocket.StatusNormalClosure, "") }

// CloseError is the code with which a gateway closed a socket.
type CloseError struct {
	Code   ws.Code
	Reason string
}

// Error is the code and its reason.
func (e *CloseError) Error() string {
	return strings.TrimRight(fmt.Sprintf("the gateway closed the socket with %d %s", int(e.Code), e.Reason), " ")
}
