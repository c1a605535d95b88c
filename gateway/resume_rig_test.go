package gateway

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"weir/internal/peer"
	"weir/relay"
)

// resuming is a gateway whose streams can be resumed without asking for ids.
const resuming = `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, open: {mode: early}, resume: {enabled: true, grace: 30s}}]
`

// startLog is start with a relay log.
func startLog(t *testing.T, o relay.MemoryOptions, config string, urls ...any) *rig {
	t.Helper()
	c, err := Load("gateway.yaml", []byte(fmt.Sprintf(config, urls...)))
	if err != nil {
		t.Fatal(err)
	}
	log := relay.NewMemory(o)
	k, logs := &kept{}, &peer.Output{}
	g, err := New(c, Options{Sink: k, Observer: k, Log: log, Logger: slog.New(slog.NewTextHandler(logs, nil))})
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, g.Handler(), g.Close, log.Close)
	return &rig{kept: k, g: g, url: url, logs: logs}
}

// get asks and gives the answer; the body is closed with the test.
func get(t *testing.T, url string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// blocks are the events of an SSE body, each with its blank line.
func blocks(body string) (all []string) {
	for _, b := range strings.SplitAfter(body, "\n\n") {
		if b != "" {
			all = append(all, b)
		}
	}
	return all
}

// withoutStamps removes the lines that weir adds for resuming.
func withoutStamps(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "id: ") && !strings.HasPrefix(line, "retry: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// stepped is an upstream that sends a piece each time it is told to, and ends
// when it is told no more.
type stepped struct {
	url  string
	next chan string
	gone chan struct{} // closed when the gateway left it
}

func newStepped(t *testing.T) *stepped {
	s := &stepped{next: make(chan string), gone: make(chan struct{})}
	s.url = scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case p, more := <-s.next:
				if !more {
					return
				}
				_, _ = io.WriteString(w, p)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				close(s.gone)
				return
			}
		}
	})
	return s
}

// cutClient is an HTTP client whose n-th connection, from 0, gives the head of
// an answer and only so many bytes of its body before it breaks; under 0 it
// gives all.
func cutClient(t *testing.T, limit func(n int) int, cut func()) *http.Client {
	n := -1
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			n++ // one connection at a time
			return &cutConn{Conn: c, left: limit(n), cut: cut}, err
		}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

type cutConn struct {
	net.Conn
	left int
	head []byte // what came until the body
	body bool
	cut  func() // told when it breaks
}

func (c *cutConn) Read(p []byte) (int, error) {
	switch {
	case c.left >= 0 && !c.body:
		n, err := c.Conn.Read(p[:1])
		c.head = append(c.head, p[:n]...)
		c.body = bytes.HasSuffix(c.head, []byte("\r\n\r\n"))
		return n, err
	case c.left == 0:
		c.cut()
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	case c.left > 0:
		p = p[:min(len(p), c.left)]
	}
	n, err := c.Conn.Read(p)
	if c.left > 0 {
		c.left -= n
	}
	copy(p[:n], bytes.ReplaceAll(p[:n], []byte("retry: 1000"), []byte("retry: 0001"))) // a test cannot wait a second for each byte
	return n, err
}

// readEvents reads n events and leaves the rest unread.
func readEvents(t *testing.T, r *bufio.Reader, n int) (body string) {
	t.Helper()
	for n > 0 {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("read: %v after %q", err, body)
		}
		body += line
		if line == "\n" {
			n--
		}
	}
	return body
}
