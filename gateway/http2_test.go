package gateway

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// HTTP/2 towards clients, in the clear and over TLS, and towards the upstream.
func TestHTTP2(t *testing.T) {
	m := startMock(t, "ttft=5ms,gap=1ms,n=10")
	want := unstamped(text(t, post(t, m.URL()+"/v1/chat/completions", ask1, "X-Request-Id", "request-1")))
	for _, up := range []string{"1.1", "h2c"} {
		for _, secure := range []bool{false, true} {
			c, err := Load("g.yaml", []byte("upstreams: {main: {urls: [\""+m.URL()+"\"], http: \""+up+"\"}}\nroutes: [{path: \"/*\", upstream: main}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			k := &kept{}
			g, err := New(c, Options{Sink: k})
			if err != nil {
				t.Fatal(err)
			}
			got, resp := overHTTP2(t, g, secure)
			g.Close()
			if resp.ProtoMajor != 2 || unstamped(got) != want {
				t.Errorf("upstream %s, tls %v: %s %q", up, secure, resp.Proto, got)
			}
			if r := k.records[0]; (r.Stamp == "body") != (up == "h2c") || r.Facts.HTTPVersion != map[string]string{"1.1": "HTTP/1.1", "h2c": "HTTP/2.0"}[up] {
				t.Errorf("upstream %s: stamp %s, %s", up, r.Stamp, r.Facts.HTTPVersion)
			}
		}
	}
}

func overHTTP2(t *testing.T, g *Gateway, secure bool) (string, *http.Response) {
	t.Helper()
	s := httptest.NewUnstartedServer(g.Handler())
	s.Listener, s.Config.ConnContext = Listener(s.Listener), ConnContext
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(!secure)
	p.SetHTTP2(secure)
	p.SetHTTP1(secure)
	s.Config.Protocols = p
	s.EnableHTTP2 = secure
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	defer s.Close()
	tr := &http.Transport{Protocols: p, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // a test's own server
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(ask1))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", "request-1")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), resp
}

// A custom dialect is a file of the route; its streams end in its own way.
func TestCustomDialect(t *testing.T) {
	file := fileOf(t, "acme.yaml", "name: acme\nevents:\n  piece: {text: delta}\n  bye: {kind: done}\n")
	piece := "event: piece\ndata: {\"delta\":\"a\"}\n\n"
	bye := "event: bye\ndata: {}\n\n"
	config := "upstreams: {main: {urls: [\"%s\"]}}\nroutes: [{path: \"/*\", upstream: main, dialect: " + file + "}]\n"
	g := start(t, config, scripted(t, sse(piece, bye)))
	if got := text(t, post(t, g.url+"/ask", `{"stream":true}`)); got != piece+bye || g.all()[0].Records[0].Dialect != "acme" {
		t.Errorf("got %q", got)
	}
	g = start(t, config, scripted(t, sse(piece)))
	if got := text(t, post(t, g.url+"/ask", `{"stream":true}`)); !strings.HasPrefix(got, piece+"event: error\ndata: {\"code\":\"upstream_truncated\"") {
		t.Errorf("got %q", got)
	}
}

// A client that does not read is told from one that left over HTTP/2 too.
func TestSlowClientOverHTTP2(t *testing.T) {
	event := chat(strings.Repeat("z", 8<<10))
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
		}
	})
	for _, policy := range []string{"block", "drop"} {
		c, err := Load("g.yaml", fmt.Appendf(nil, `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, slow_client: {policy: %s, bytes: 64KiB, write_timeout: 1s}}]
`, up, policy))
		if err != nil {
			t.Fatal(err)
		}
		k := &kept{}
		g, err := New(c, Options{Observer: k})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(g.Handler())
		p := new(http.Protocols)
		p.SetUnencryptedHTTP2(true)
		s.Config.Protocols, s.Config.ConnContext = p, ConnContext
		s.Start()
		tr := &http.Transport{Protocols: p}
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(ask1))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(30 * time.Second)
		for len(k.all()) == 0 && time.Now().Before(end) {
			time.Sleep(5 * time.Millisecond)
		}
		if all := k.all(); len(all) != 1 || all[0].Reason != "slow_client" {
			t.Errorf("%s: %+v", policy, all)
		}
		cancel()
		_ = resp.Body.Close()
		tr.CloseIdleConnections()
		g.Close()
		s.Close()
	}
}
