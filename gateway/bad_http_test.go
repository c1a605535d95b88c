package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// rawUpstream answers every connection with the same bytes, whatever they are.
func rawUpstream(t *testing.T, answer string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, _ = c.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(c, answer)
				_, _ = io.Copy(io.Discard, c) // until the gateway has enough
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// What is no HTTP gets a reason of its own each, in whose words nothing of the
// service's bytes is.
func TestWhatIsNoHTTP(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct{ name, answer, reason, comes string }{
		{"garbage", "SSH-2.0-secret\r\n\r\n", "upstream_head", ""},
		{"a status line that is none", "HTTP/1.1 secret\r\n\r\n", "upstream_head", ""},
		{"a field that is none", "HTTP/1.1 200 OK\r\nsecret\r\n\r\n", "upstream_head", ""},
		{"an endless head", "HTTP/1.1 200 OK\r\nX: secret" + strings.Repeat("x", 2<<20), "upstream_head_too_large", ""},
		{"no chunks", head + "secret\r\n", "upstream_chunking", ""},
		{"no chunks after output", head + chunk(chat("a")) + "secret\r\n", "upstream_chunking", chat("a")},
		{"a size that cannot be", head + "ffffffffffffffffff\r\n", "upstream_chunking", ""},
	} {
		g := start(t, "upstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/*\", upstream: main, open: {mode: hold}, retry: {attempts: 1}}]\n", rawUpstream(t, c.answer))
		resp := post(t, g.url+"/v1/chat/completions", ask1)
		got := text(t, resp)
		want := http.StatusBadGateway
		if c.comes != "" {
			want = http.StatusOK
		}
		if resp.StatusCode != want || !strings.HasPrefix(got, c.comes) || strings.Count(got, `"reason":"`+c.reason+`"`) != 1 || strings.Contains(got, "secret") {
			t.Errorf("%s: %d %.300q", c.name, resp.StatusCode, got)
		}
		until(t, "the line in the log", func() bool { return strings.Contains(g.logs.String(), c.reason) })
	}
}
