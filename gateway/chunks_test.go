package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// writes counts what is written on a connection past net/http.
type writes struct {
	net.Conn
	n *atomic.Int32
}

func (w writes) Write(p []byte) (int, error) {
	w.n.Add(1)
	return w.Conn.Write(p)
}

// wrapped is a ResponseWriter of somebody who stands in between.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Whoever asks in whatever way gets the same answer, written by the gateway
// itself or by net/http, and its connection serves the next request, where it
// may. The gateway writes by itself only what is in chunks on a connection that
// nobody stands before.
func TestAnswersInChunks(t *testing.T) {
	stream := sse(chatRole, "5ms", chat("a"), "5ms", chat(strings.Repeat("long ", 999)), "5ms", chatFinish, chatDone)
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "plain") {
			_, _ = io.WriteString(w, "plain")
			return
		}
		stream(w, r)
	})
	for name, c := range map[string]struct {
		request, path string
		middle        bool // there is something between
		itself, again bool
	}{
		"a stream":              {"POST %s HTTP/1.1\r\nHost: x\r\n", "/v1/chat/completions", false, true, true},
		"the last of its conn":  {"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", "/v1/chat/completions", false, true, false},
		"HTTP/1.0":              {"POST %s HTTP/1.0\r\nHost: x\r\n", "/v1/chat/completions", false, false, false},
		"HTTP/1.0 kept":         {"POST %s HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n", "/v1/chat/completions", false, false, false},
		"HEAD":                  {"HEAD %s HTTP/1.1\r\nHost: x\r\n", "/v1/chat/completions", false, false, true},
		"no stream":             {"POST %s HTTP/1.1\r\nHost: x\r\n", "/v1/plain", false, false, true},
		"a middleman's stream":  {"POST %s HTTP/1.1\r\nHost: x\r\n", "/v1/chat/completions", true, false, true},
		"a path of the gateway": {"POST %s HTTP/1.1\r\nHost: x\r\n", "/weir/streams/none/stop", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			itself := served(t, up, c.middle, func(ctx context.Context, conn net.Conn) context.Context {
				return ConnContext(ctx, writes{conn, &n})
			})
			want := twice(t, served(t, up, c.middle, nil), fmt.Sprintf(c.request, c.path))
			got := twice(t, itself, fmt.Sprintf(c.request, c.path))
			if got != want || strings.Contains(got, "again") != c.again {
				t.Errorf("%s\ninstead of\n%s", got, want)
			}
			if wrote := n.Load() > 0; wrote != c.itself {
				t.Errorf("%d writes of the gateway's own", n.Load())
			}
		})
	}
}

// served is the address of a gateway.
func served(t *testing.T, up string, middle bool, conns func(context.Context, net.Conn) context.Context) string {
	g := start(t, small, up).g
	h := g.Handler()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if middle {
			w = wrapped{w}
		}
		h.ServeHTTP(w, r)
	}))
	server.Config.ConnContext = conns
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// twice asks twice on one connection, and says what came of it.
func twice(t *testing.T, addr, head string) string {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	method, _, _ := strings.Cut(head, " ")
	var said strings.Builder
	for _, word := range []string{"first", "again"} {
		body := ask1
		if method == http.MethodHead {
			body = ""
		}
		_, _ = fmt.Fprintf(c, "%sX-Request-Id: request-1\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			break // it is closed
		}
		b, err := io.ReadAll(resp.Body)
		for _, another := range []string{"Date", "Server-Timing", "Traceresponse", "Weir-Stream"} {
			resp.Header.Del(another)
		}
		fmt.Fprintf(&said, "%s: %s %v %v %s %v\n", word, resp.Status, resp.TransferEncoding, resp.Header, b, err)
	}
	return said.String()
}

// deluge is a stream whose client, if it does not read, leaves a chunk torn.
func deluge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, chat("a"))
	_ = http.NewResponseController(w).Flush()
	time.Sleep(50 * time.Millisecond) // then the pump writes itself
	for event := chat(strings.Repeat("x", 60_000)); ; {
		if _, err := io.WriteString(w, event); err != nil {
			return
		}
	}
}

// After a write that ran out of time nothing follows, neither a heartbeat nor the
// end of the answer: it would be taken for data. This holds though somebody around
// the handler recovers its panic.
func TestNothingFollowsATornChunk(t *testing.T) {
	up := scripted(t, deluge)
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"cut by the server": func(h http.Handler) http.Handler { return h },
		"recovered": func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { _ = recover() }()
				h.ServeHTTP(w, r)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, heartbeat: 100ms, slow_client: {policy: block, write_timeout: 1s}}]
`, up)
			c := deaf(t, listen(t, wrap(g.g.Handler()), func() {}))
			until(t, "it is too slow", func() bool { return len(g.all()) > 0 })
			_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
			got, err := io.ReadAll(c)
			if err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("it is not cut: %v", err)
			}
			if tail := got[len(got)-40:]; bytes.Contains(got, []byte("hb")) || bytes.Contains(tail, []byte("0\r\n")) {
				t.Errorf("it ends in %q, and has %d heartbeats", tail, bytes.Count(got, []byte("hb")))
			}
		})
	}
}

// An answer that may have no body has none: on a connection that is kept it would
// be taken for the next answer.
func TestNoChunksWhereThereIsNoBody(t *testing.T) {
	for _, status := range []string{"304 Not Modified", "101 Switching Protocols"} {
		up := rawUpstream(t, "HTTP/1.1 "+status+"\r\nContent-Type: text/event-stream\r\n\r\n")
		g := start(t, "upstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/*\", upstream: main, open: {mode: early}}]\n", up)
		c := deaf(t, g.url)
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		b, err := io.ReadAll(c)
		if _, after, _ := bytes.Cut(b, []byte("\r\n\r\n")); len(after) > 0 || err != nil {
			t.Errorf("%s: %q after the head, %v", status, after, err)
		}
	}
}
