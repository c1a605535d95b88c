package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
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
