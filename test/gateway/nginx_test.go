package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/client"
	"weir/diagnose"
	"weir/dialect"
	"weir/mock"
	"weir/probe"
	"weir/stream"
	"weir/test/relay"
)

// behindNginx starts nginx with the shipped file before an upstream; lines
// replace its own.
func behindNginx(t *testing.T, upstream string) (url string) {
	t.Helper()
	file, err := os.ReadFile("../../deploy/nginx/weir.conf")
	if err != nil {
		t.Fatal(err)
	}
	return relay.NginxHTTP(t, func(addr string) string {
		text := replaced(t, string(file), "server 127.0.0.1:8080;", "server "+strings.TrimPrefix(upstream, "http://")+";")
		return replaced(t, text, "listen 80;", "listen "+addr+";")
	})
}

// replaced has the one place of old in text changed.
func replaced(t *testing.T, text, old, with string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q stands %d times in\n%s", old, n, text)
	}
	return strings.Replace(text, old, with, 1)
}

// production is the shipped configuration before a mock, with the given changes.
func production(t *testing.T, m *mock.Server, changes ...string) served {
	t.Helper()
	file, err := os.ReadFile("../../deploy/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	changes = append(changes, "listen: 127.0.0.1:8080", "listen: 127.0.0.1:0", "admin: 127.0.0.1:9091", "admin: 127.0.0.1:0", "http://127.0.0.1:9000", m.URL())
	for i := 0; i < len(changes); i += 2 {
		text = replaced(t, text, changes[i], changes[i+1])
	}
	return serve(t, text, nil)
}

// Through nginx as we ship it, and through nginx as Debian ships it, which
// heeds the gateway's own headers, nothing is held back.
func TestBehindNginxNothingIsBuffered(t *testing.T) {
	t.Parallel()
	g := production(t, upstream(t))
	for name, url := range map[string]string{
		"shipped": behindNginx(t, g.url),
		"default": relay.Nginx(t, g.url, relay.NginxDefault),
		"gzip":    relay.Nginx(t, g.url, "proxy_http_version 1.1; gzip on; gzip_proxied any; gzip_min_length 0;"), // of the types nginx has by default
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range diagnose.Diagnose(probed(t, url, 5)) {
				if slices.Contains(held, f.Code) {
					t.Errorf("%s: %s %+v", f.Code, f.Text, f.Evidence)
				}
			}
		})
	}
}

// held are the codes that say that something holds the stream back.
var held = []string{
	"buffering_by_size", "buffering_by_time", "buffering_by_compression",
	"batches", "not_streamed", "hop_buffering", "service_even_client_bursty",
}

// probed is what weir probe sees of an uneven stream, n times.
func probed(t *testing.T, url string, n int) (all []*stream.Record) {
	t.Helper()
	d, err := dialect.Lookup("openai.chat")
	if err != nil {
		t.Fatal(err)
	}
	c, err := probe.New(probe.Options{Dialect: d, Compressed: true, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		settings := fmt.Sprintf("ttft=100ms,gap=lognormal:15ms:0.5,n=80,seed=%d", i+1)
		rs, err := c.Do(t.Context(), dialect.Ask{
			URL: url + "/v1/chat/completions", Model: "mock", Header: http.Header{"X-Weir-Mock": {settings}},
		}, probe.Meta{Index: i})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			if r.Outcome != stream.Complete {
				t.Errorf("request %d is %s %s: %s", i, r.Outcome, r.Reason, r.Detail)
			}
		}
		all = append(all, rs...)
	}
	return all
}

// A broken connection is resumed through nginx: the pieces are what the whole
// would have been.
func TestBehindNginxAStreamIsResumed(t *testing.T) {
	t.Parallel()
	m := upstream(t)
	url := behindNginx(t, production(t, m).url)
	const settings = "ttft=20ms,gap=15ms,n=60,seed=7"
	want := followed(t, m.URL(), settings, 0)
	for _, cut := range []int{1500, 3000} {
		tries := 0
		got := followed(t, url, settings, cut, func(client.Reconnect) { tries++ })
		if tries == 0 {
			t.Errorf("cut after %d bytes: the client never had to come back", cut)
		}
		if got != want {
			t.Errorf("cut after %d bytes:\n%s\nwant\n%s", cut, got, want)
		}
	}
}

// followed is the text of a stream whose first connection is cut after so many
// bytes (0 = never), read by our own client.
func followed(t *testing.T, url, settings string, cut int, retrying ...func(client.Reconnect)) string {
	t.Helper()
	o := client.Options{Delay: 10 * time.Millisecond, Jitter: -1, HTTP: &http.Client{Transport: &cutting{after: cut}}}
	for _, f := range retrying {
		o.Retrying = f
	}
	var text strings.Builder
	for e, err := range client.Do(chat(t, url, settings), o) {
		if err != nil {
			t.Fatal(err)
		}
		_, piece, _ := strings.Cut(string(e.Data), `"content":`)
		text.WriteString(piece)
	}
	return text.String()
}

// chat is a request for a stream as OpenAI's clients make it.
func chat(t *testing.T, url, settings string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions",
		strings.NewReader(`{"model":"mock","stream":true,"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Weir-Mock", settings)
	return r
}

// cutting breaks the first answer after so many bytes.
type cutting struct {
	after int
	done  atomic.Bool
}

func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && c.after > 0 && !c.done.Swap(true) {
		resp.Body = &cutBody{resp.Body, c.after}
	}
	return resp, err
}

type cutBody struct {
	io.ReadCloser
	left int
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Heartbeats pass nginx while the model is still silent, and a user who leaves
// while it is silent ends its work.
func TestBehindNginxHeartbeatsAndLeaving(t *testing.T) {
	t.Parallel()
	m := upstream(t)
	g := production(t, m, "heartbeat: 15s, resume: {enabled: true, grace: 30s}", "heartbeat: 100ms, open: {mode: hold, hold: 50ms}")
	resp, err := http.DefaultClient.Do(chat(t, behindNginx(t, g.url), "ttft=1h"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	for beats := 0; beats < 3; {
		if !lines.Scan() {
			t.Fatalf("the stream ended after %d heartbeats: %v", beats, lines.Err())
		}
		if strings.HasPrefix(lines.Text(), ":") {
			beats++
		}
		if strings.HasPrefix(lines.Text(), "data:") {
			t.Fatalf("output before its time: %s", lines.Text())
		}
	}
	if s := m.Stats(); s.Active != 1 || s.Cancelled != 0 {
		t.Errorf("%+v, want one active request", s)
	}
	_ = resp.Body.Close()
	eventually(t, "the upstream request is cancelled", func() bool { return m.Stats().Cancelled == 1 })
}

// nginx keeps its connections to the gateway, hands on one id, and lets a
// WebSocket through.
func TestBehindNginxConnections(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	seen := make(chan http.Header, 8)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		if r.Header.Get("Upgrade") == "websocket" {
			echo(t, w)
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("Connection"))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	url := behindNginx(t, srv.URL)
	for _, id := range []string{"", "short", "a-good-id-of-the-client", "bad id; with spaces and more"} {
		r := chat(t, url, "n=1")
		r.Header.Set("X-Request-Id", id)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		got := (<-seen).Get("X-Request-Id")
		if kept := got == id; kept != strings.HasPrefix(id, "a-good") || len(got) < 8 {
			t.Errorf("id %q became %q", id, got)
		}
		if len(body) > 0 {
			t.Errorf("Connection: %s went upstream", body)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections to the gateway for four requests one after the other, want 1", n)
	}
	upgraded(t, strings.TrimPrefix(url, "http://"))
}

// echo takes the connection over and sends back what comes.
func echo(t *testing.T, w http.ResponseWriter) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	_ = rw.Flush()
	_, _ = io.Copy(conn, rw)
}

func upgraded(t *testing.T, addr string) {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, "GET /weir/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("upgrade: %v, %v", resp, err)
	}
	for _, word := range []string{"there", "and back"} {
		_, _ = io.WriteString(conn, word)
		got := make([]byte, len(word))
		if _, err := io.ReadFull(in, got); err != nil || !bytes.Equal(got, []byte(word)) {
			t.Fatalf("%q, %v; want %q", got, err, word)
		}
	}
}
