package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/relay"
)

// bubble is a gateway between a service and a client on a clock of its own,
// where nothing takes time but waiting: times in it are exact, however busy the
// machine. All three speak HTTP/1.1 over pipes.
type bubble struct {
	*kept
	t      *testing.T
	g      *Gateway
	client *http.Client

	mu     sync.Mutex
	writes []written
}

// written is one write to the client's connection.
type written struct {
	at    time.Time
	bytes string
}

// inBubble runs a test in one; config is YAML for one upstream, named main.
func inBubble(t *testing.T, config string, up http.HandlerFunc, test func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := Load("gateway.yaml", []byte("upstreams: {main: {urls: [\"http://service\"]}}\n"+config))
		if err != nil {
			t.Fatal(err)
		}
		b := &bubble{kept: &kept{}, t: t}
		log := relay.NewMemory(relay.MemoryOptions{})
		if b.g, err = New(c, Options{Sink: b.kept, Observer: b.kept, Log: log}); err != nil {
			t.Fatal(err)
		}
		service, front := newPipes(nil), newPipes(b.wrote)
		b.g.ups["main"].direct.Close()
		b.g.ups["main"].direct, b.g.ups["main"].transport.DialContext = nil, service.dial
		servers := []*http.Server{{Handler: up}, {Handler: b.g.Handler()}}
		go func() { _ = servers[0].Serve(service) }()
		go func() { _ = servers[1].Serve(front) }()
		transport := &http.Transport{DialContext: front.dial}
		b.client = &http.Client{Transport: transport}
		defer func() {
			transport.CloseIdleConnections()
			b.g.Close()
			for _, s := range servers {
				_ = s.Close()
			}
			_ = log.Close()
		}()
		test(b)
	})
}

// open asks, and gives the answer's beginning.
func (b *bubble) open(method, path, body string) *http.Response {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp
}

// rest reads an answer to its end.
func (b *bubble) rest(resp *http.Response) string {
	b.t.Helper()
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		b.t.Errorf("%d %v: %.300q", resp.StatusCode, err, body)
	}
	synctest.Wait() // the record is written
	return string(body)
}

// ask asks for a stream and reads it.
func (b *bubble) ask() string {
	b.t.Helper()
	return b.rest(b.open(http.MethodPost, "/v1/chat/completions", ask1))
}

func (b *bubble) wrote(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, written{time.Now(), string(p)})
}

// with are the writes that hold a text.
func (b *bubble) with(text string) (all []written) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.writes {
		if strings.Contains(w.bytes, text) {
			all = append(all, w)
		}
	}
	return all
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	wrote func([]byte) // told of what the listener's side writes
}

func newPipes(wrote func([]byte)) *pipes {
	return &pipes{conns: make(chan net.Conn), done: make(chan struct{}), wrote: wrote}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- &tellingConn{far, p.wrote}:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

type tellingConn struct {
	net.Conn
	wrote func([]byte)
}

func (c *tellingConn) Write(p []byte) (int, error) {
	if c.wrote != nil {
		c.wrote(p)
	}
	return c.Conn.Write(p)
}
