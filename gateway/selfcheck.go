package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// selfcheck is one run of SelfCheck, as its handler and its client share it.
type selfcheck struct {
	token string
	seen  chan struct{} // closed when the client has read what was flushed
	found chan error
}

// checkWait bounds each step of a self-check.
const checkWait = 5 * time.Second

// SelfCheck proves that flushes and write deadlines reach the socket through
// whatever server and wrap lay around the gateway: a wrapper that hides them
// would hold streams back, or let one dead client hold its place for ever. It
// serves a request of its own on a free port of the loopback.
func (f *Front) SelfCheck(ctx context.Context, server func(http.Handler) *http.Server) error {
	c := &selfcheck{token: rand.Text(), seen: make(chan struct{}), found: make(chan error, 1)}
	f.check.Store(c)
	defer f.check.Store(nil)
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("self-check: %w", err)
	}
	s := server(f)
	go func() { _ = s.Serve(l) }() // until it is closed
	defer func() { _ = s.Close() }()
	if err := c.ask(ctx, l.Addr().String()); err != nil {
		return fmt.Errorf("self-check: %w", err)
	}
	return nil
}

// ask is the client's side.
func (c *selfcheck) ask(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*checkWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+ownPrefix+"check/"+c.token, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		select {
		case found := <-c.found: // it says more
			return found
		default:
			return fmt.Errorf("the gateway's server does not answer: %w", err)
		}
	}
	defer func() { _ = resp.Body.Close() }()
	if n, _ := resp.Body.Read(make([]byte, 1)); n == 1 {
		close(c.seen)
	}
	select {
	case err := <-c.found:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serve is the handler's side.
func (c *selfcheck) serve(w http.ResponseWriter, _ *http.Request) {
	c.found <- c.try(w, http.NewResponseController(w))
	panic(http.ErrAbortHandler) // its deadline has passed
}

func (c *selfcheck) try(w http.ResponseWriter, rc *http.ResponseController) error {
	if _, err := w.Write([]byte(".")); err != nil {
		return err
	}
	if err := rc.Flush(); err != nil {
		return fmt.Errorf("flushes do not reach the socket: %w", err)
	}
	select {
	case <-c.seen:
	case <-time.After(checkWait):
		return errors.New("flushes do not reach the socket: what was flushed did not arrive")
	}
	if err := rc.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
		return fmt.Errorf("write deadlines do not reach the socket: %w", err)
	}
	_, err := w.Write([]byte("."))
	if err == nil {
		err = rc.Flush()
	}
	if err == nil {
		return errors.New("write deadlines do not reach the socket: a write after the deadline succeeded")
	}
	return nil
}
