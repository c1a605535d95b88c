package gateway

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// askAs sends a request of a method; header is pairs, Host among them.
func askAs(t *testing.T, method, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// A page spends the service's key only where its origin is listed, however
// simple its request is; programs name no origin.
func TestOrigins(t *testing.T) {
	t.Setenv("WEIR_TEST_UPSTREAM_KEY", sentinel)
	var asked atomic.Int32
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers"} {
			w.Header().Set(name, "*")
		}
		w.Header().Set("Vary", "Accept")
		if strings.Contains(r.URL.Path, "fail") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if strings.Contains(r.URL.Path, "plain") {
			return
		}
		sse(chat("a")+chatFinish+chatDone)(w, r)
	})
	g := start(t, `
upstreams: {main: {urls: ["%s"], key_env: WEIR_TEST_UPSTREAM_KEY}}
routes: [{path: "/v1/*", upstream: main}]
origins: ["https://chat.example.com"]
`, up)
	host := strings.TrimPrefix(g.url, "http://")
	for _, c := range []struct {
		name   string
		header []string
		status int
		may    string // the origin that may read it
	}{
		{"a program", nil, 200, ""},
		{"a listed page", []string{"Origin", "https://chat.example.com"}, 200, "https://chat.example.com"},
		{"a page of the gateway's address", []string{"Origin", g.url}, 200, ""},
		{"a page of its name, with a certificate", []string{"Origin", "https://gw.example.com", "Host", "gw.example.com"}, 200, ""},
		{"a page of localhost", []string{"Origin", "http://localhost:8080", "Host", "localhost:8080"}, 200, ""},
		{"a name that resolves to the gateway", []string{"Origin", "http://evil.example.com", "Host", "evil.example.com"}, 403, ""},
		{"another port", []string{"Origin", strings.TrimRight(g.url, "0123456789") + "1"}, 403, ""},
		{"a foreign page", []string{"Origin", "https://evil.example.com"}, 403, ""},
		{"a page in the clear of a listed name", []string{"Origin", "http://chat.example.com"}, 403, ""},
		{"a prefix", []string{"Origin", "https://chat.example.com.evil.com"}, 403, ""},
		{"no origin that has a name", []string{"Origin", "null"}, 403, ""},
		{"an empty one", []string{"Origin", ""}, 403, ""},
		{"two", []string{"Origin", "https://chat.example.com", "Origin", "https://evil.example.com"}, 403, ""},
		{"a name without a host", []string{"Origin", "https:" + host}, 403, ""},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/plain", "/v1/fail", "/weir/streams/0/stop", "/none"} {
			before := asked.Load()
			resp := askAs(t, http.MethodPost, g.url+path, ask1, append([]string{"Content-Type", "text/plain"}, c.header...)...)
			got := text(t, resp)
			if refused := resp.StatusCode == http.StatusForbidden && strings.Contains(got, `"origin"`); refused != (c.status == 403) {
				t.Errorf("%s, %s: %d %q", c.name, path, resp.StatusCode, got)
			}
			if c.status == 403 && asked.Load() != before {
				t.Errorf("%s, %s: the service was asked", c.name, path)
			}
			h := resp.Header
			if strings.Join(h.Values("Access-Control-Allow-Origin"), " ") != c.may || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s, %s: %v", c.name, path, h)
			}
			vary := strings.Join(h.Values("Vary"), " ")
			if c.may != "" && !(strings.Contains(h.Get("Access-Control-Expose-Headers"), "weir-stream") && strings.Contains(h.Get("Access-Control-Expose-Headers"), "traceresponse") && strings.Contains(vary, "Origin")) ||
				strings.HasPrefix(path, "/v1/") && c.status == 200 && !strings.Contains(vary, "Accept") {
				t.Errorf("%s, %s: %v", c.name, path, h)
			}
			if h.Get("X-Request-Id") == "" && !strings.HasPrefix(path, ownPrefix) {
				t.Errorf("%s, %s: no id", c.name, path)
			}
		}
	}
	if strings.Contains(g.logs.String(), sentinel) {
		t.Error("a key was logged")
	}
}

// A listed page is told what it may send; nobody else is, and no service hears
// of it.
func TestPreflight(t *testing.T) {
	var asked atomic.Int32
	up := scripted(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	g := start(t, `
upstreams: {main: {urls: ["%s"], forward: [X-Tenant]}}
routes: [{path: "/v1/*", upstream: main}]
origins: ["https://chat.example.com"]
keys: {mode: file, file: `+fileOf(t, "keys.yaml", "keys: [{name: alice, key: alice-alice}]")+`}
`, up)
	for _, path := range []string{"/v1/chat/completions", "/weir/streams/0123", "/weir/records/0123"} {
		resp := askAs(t, http.MethodOptions, g.url+path, "", "Origin", "https://chat.example.com", "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "x-stainless-lang, X-Tenant,x-api-key, cookie, x-forwarded-for, x-other, proxy-authorization",
			"Access-Control-Request-Private-Network", "true")
		h := resp.Header
		if resp.StatusCode != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != "https://chat.example.com" ||
			!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") || h.Get("Access-Control-Allow-Private-Network") != "true" {
			t.Errorf("%s: %d %v", path, resp.StatusCode, h)
		}
		want := "authorization, content-type, last-event-id, traceparent, weir-resume, x-request-id, x-stainless-lang, x-tenant, x-api-key"
		if got := h.Get("Access-Control-Allow-Headers"); got != want {
			t.Errorf("%s: headers %q", path, got)
		}
		resp = askAs(t, http.MethodOptions, g.url+path, "", "Origin", "https://evil.example.com", "Access-Control-Request-Method", "POST")
		if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s, a foreign page: %d %v", path, resp.StatusCode, resp.Header)
		}
	}
	// One that is no such question is a request as any.
	if resp := askAs(t, http.MethodOptions, g.url+"/v1/x", "", "Origin", "https://chat.example.com"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("OPTIONS without a method asked for: %d", resp.StatusCode)
	}
	if asked.Load() != 0 {
		t.Errorf("the service was asked %d times", asked.Load())
	}
}

// What is listed for HTTP may connect by WebSocket; what is listed for sockets
// may do that alone.
func TestOriginsOfSockets(t *testing.T) {
	g := start(t, small+"origins: [\"https://both.example.com\"]\nws: {origins: [\"https://socket.example.com\"]}\n", "http://127.0.0.1:1")
	for origin, want := range map[string]int{"https://both.example.com": 101, "https://socket.example.com": 101, "https://evil.example.com": 403} {
		conn, resp, _ := dialSocket(t, g.url, "Origin", origin)
		if resp == nil || resp.StatusCode != want {
			t.Errorf("%s: %v", origin, resp)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
	for _, method := range []string{"GET", "POST"} { // a socket's path is no way round
		path := map[string]string{"GET": "/v1/x", "POST": "/weir/ws"}[method]
		if resp := askAs(t, method, g.url+path, "", "Origin", "https://socket.example.com"); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %d", method, path, resp.StatusCode)
		}
	}
	for _, bad := range []string{"*", "chat.example.com", "https://chat.example.com/"} {
		if _, err := Load("gateway.yaml", []byte("upstreams: {main: {urls: [\"http://a.test\"]}}\nroutes: [{path: \"/*\", upstream: main}]\norigins: [\""+bad+"\"]\n")); err == nil || !strings.Contains(err.Error(), "origins") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
