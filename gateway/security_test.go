package gateway

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/wire"
)

const sentinel = "sk-sentinel-0123456789abcdef"

// No key is in any log, record or answer, however things go.
func TestKeysAreNowhere(t *testing.T) {
	t.Setenv("WEIR_TEST_UPSTREAM_KEY", sentinel+"-upstream")
	var seen []string
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key")+r.URL.RawQuery)
		if strings.Contains(r.URL.Path, "fail") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		sse(chat("a")+chatFinish+chatDone)(w, r)
	})
	keys := fileOf(t, "keys.yaml", "keys: [{name: alice, key: "+sentinel+"}]")
	for _, mode := range []string{"keys: {mode: pass_through}", "keys: {mode: file, file: " + keys + "}"} {
		g := start(t, `
upstreams: {own: {urls: ["%s"], key_env: WEIR_TEST_UPSTREAM_KEY}, dead: {urls: ["http://127.0.0.1:1"]}}
routes:
  - {path: "/v1/*", upstream: own}
  - {path: "/v1beta/*", upstream: own}
  - {path: "/dead/*", upstream: dead, retry: {backoff: 1ms}}
`+mode+"\n", up)
		var told strings.Builder
		for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1beta/models/m:generateContent?key=" + sentinel, "/v1/fail", "/dead/x", "/none", "/v1/x?key=" + sentinel + "&a=%zz"} {
			for _, header := range keyHeaders {
				value := sentinel
				if header == "Authorization" {
					value = "Bearer " + sentinel
				}
				resp := post(t, g.url+path, ask1, header, value)
				told.WriteString(text(t, resp))
			}
		}
		for _, r := range g.records {
			told.WriteString(r.Target + r.Detail + r.Reason + strings.Join(r.Notes, " "))
		}
		if strings.Contains(told.String(), sentinel) || strings.Contains(g.logs.String(), sentinel) {
			t.Errorf("%s: the sentinel key was told:\n%s\n%s", mode, told.String(), g.logs.String())
		}
		for _, s := range seen {
			if strings.Contains(strings.ReplaceAll(s, sentinel+"-upstream", ""), sentinel) {
				t.Errorf("%s: the client's key went to the upstream: %s", mode, s)
			}
		}
	}
	if got := strings.Join(seen, " "); !strings.Contains(got, "Bearer "+sentinel+"-upstream") {
		t.Errorf("the upstream's key was not sent: %s", got)
	}
}

func TestKeyFile(t *testing.T) {
	keys := fileOf(t, "keys.yaml", "keys:\n- {name: alice, key: alice-key-1}\n- {name: bob, key: bob-key-22}\n")
	g := start(t, small+"keys: {mode: file, file: "+keys+"}\n", scripted(t, sse(chat("a")+chatFinish+chatDone)))
	for key, want := range map[string]int{"Bearer alice-key-1": 200, "Bearer bob-key-22": 200, "Bearer alice-key-2": 401, "": 401, "Bearer ": 401, "alice-key-1": 200} {
		if resp := post(t, g.url+"/v1/chat/completions", ask1, "Authorization", key); resp.StatusCode != want {
			t.Errorf("%q: %d, want %d", key, resp.StatusCode, want)
		}
	}
	for _, path := range []string{"/weir/records/request-1", "/weir/streams/0/stop"} {
		method := "GET"
		if strings.HasSuffix(path, "stop") {
			method = "POST"
		}
		req, _ := http.NewRequest(method, g.url+path, nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d", path, resp.StatusCode)
		}
	}
}

// Only listed headers go upstream, each once; what speaks of the connection or
// of who is asking does not.
func TestHeaderSmuggling(t *testing.T) {
	var sent http.Header
	g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Clone()
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Connection", "X-Secret-Hop")
		w.Header().Set("X-Secret-Hop", "1")
		w.Header().Set("Weir-Stream", "forged")
		sse(chat("a")+chatFinish+chatDone)(w, r)
	}))
	resp := post(t, g.url+"/v1/chat/completions", ask1, "Connection", "Openai-Beta", "Openai-Beta", "x", "Cookie", "c=1",
		"Proxy-Authorization", "Basic x", "X-Forwarded-For", "1.2.3.4", "Forwarded", "for=1.2.3.4", "Weir-Resume", "0", "Te", "trailers",
		"Last-Event-ID", "x", "Anthropic-Version", "2023-06-01", "Anthropic-Beta", "a", "Anthropic-Beta", "b", "X-Internal-User", "root")
	_ = text(t, resp)
	for _, name := range []string{"Openai-Beta", "Cookie", "Proxy-Authorization", "X-Forwarded-For", "Forwarded", "Weir-Resume", "Te",
		"Last-Event-Id", "Anthropic-Beta", "X-Internal-User", "Connection"} {
		if v := sent.Values(name); len(v) > 0 {
			t.Errorf("%s went upstream: %q", name, v)
		}
	}
	if sent.Get("Anthropic-Version") == "" {
		t.Error("Anthropic-Version did not go upstream")
	}
	for _, name := range []string{"Set-Cookie", "X-Secret-Hop"} {
		if resp.Header.Get(name) != "" {
			t.Errorf("%s came through", name)
		}
	}
	if resp.Header.Get("Weir-Stream") == "forged" {
		t.Error("an upstream can set Weir-Stream")
	}
}

// The text of an upstream's error is hostile: it cannot inject a frame.
func TestFieldInjection(t *testing.T) {
	for _, name := range []string{"openai.chat", "openai.responses", "anthropic", "gemini", "dify", "unknown", "mine"} {
		f := &failure{reason: "x", text: "a\r\ndata: injected\n\nevent: done\rid: 7\x00\u2028", requestID: "r\nid: 9"}
		list := frames(t, "sse", string(voice{name, true}.terminal("sse", f, 1, true)))
		if len(list) != 1 || list[0].Kind != wire.Event || len(list[0].ID) > 0 {
			t.Errorf("%s: %d frames, %q", name, len(list), list[0].Raw)
		}
		line := string(voice{name, true}.terminal("ndjson", f, 1, true))
		if strings.Count(line, "\n") != 1 || strings.Contains(line, "\r") {
			t.Errorf("%s: %q", name, line)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	g := start(t, small+"limits: {body: 1KiB}\n", scripted(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for size, want := range map[int]int{1024: 200, 1025: 413, 1 << 20: 413} {
		if resp := post(t, g.url+"/v1/x", strings.Repeat("x", size)); resp.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", size, resp.StatusCode, want)
		}
	}
}

// The dialled address counts, not the name: one that resolves to an address
// outside allow is refused, whatever it resolved to before.
func TestAllowIsCheckedOnTheDialledAddress(t *testing.T) {
	s := httptest.NewServer(sse(chat("a") + chatFinish + chatDone))
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, c := range []struct {
		allow string
		want  int
	}{{"127.0.0.0/8, ::1", 200}, {"127.0.0.1", 200}, {"10.0.0.0/8", 502}} {
		g := start(t, `
upstreams: {main: {urls: ["http://localhost:%s"], allow: [%s]}}
routes: [{path: "/*", upstream: main, retry: {attempts: 1}}]
`, port, c.allow)
		resp := post(t, g.url+"/v1/chat/completions", ask1)
		got := text(t, resp)
		if resp.StatusCode != c.want || c.want == 502 && !strings.Contains(got, "upstream_not_allowed") {
			t.Errorf("allow %s: %d %q", c.allow, resp.StatusCode, got)
		}
	}
	// A name that resolves anew between two dials.
	u, err := newUpstream("main", Upstream{URLs: []URL{mustURL("http://rebind.test")}, Allow: []CIDR{cidr("192.0.2.0/24")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.control("tcp", "192.0.2.7:80", nil); err != nil {
		t.Errorf("inside: %v", err)
	}
	for _, addr := range []string{"127.0.0.1:80", "[::ffff:127.0.0.1]:80", "169.254.169.254:80", "nonsense"} {
		if u.control("tcp", addr, nil) == nil {
			t.Errorf("%s was allowed", addr)
		}
	}
}

func mustURL(s string) URL {
	u, err := ParseURL(s)
	if err != nil {
		panic(err)
	}
	return u
}

func cidr(s string) (c CIDR) {
	if err := c.UnmarshalText([]byte(s)); err != nil {
		panic(err)
	}
	return c
}

// Redirects are not followed, and the client does not learn where to.
func TestRedirectIsNotFollowed(t *testing.T) {
	asked := false
	other := scripted(t, func(http.ResponseWriter, *http.Request) { asked = true })
	g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusTemporaryRedirect) }))
	resp := post(t, g.url+"/v1/chat/completions", ask1)
	if got := text(t, resp); asked || resp.StatusCode != http.StatusBadGateway || resp.Header.Get("Location") != "" || strings.Contains(got, other) {
		t.Errorf("asked %v: %d %q", asked, resp.StatusCode, got)
	}
}

// A caller chooses the path below the upstream's address, never the host.
func TestCallerCannotChooseTheHost(t *testing.T) {
	var host string
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		host = r.Host
		w.WriteHeader(http.StatusNoContent)
	})
	g := start(t, small, up)
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = c.Write([]byte("GET http://evil.test/@evil.test/x HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n"))
	buf := make([]byte, 1000)
	n, _ := c.Read(buf)
	if !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 204") || "http://"+host != up {
		t.Errorf("host %q: %q", host, buf[:n])
	}
}

// A path that the service would resolve to one outside its route is refused,
// however it is written.
func TestPathStaysBelowItsRoute(t *testing.T) {
	var asked atomic.Int32
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer up.Close()
	g := start(t, "upstreams: {main: {urls: [\"%s\"]}}\nroutes: [{path: \"/v1/*\", upstream: main}]\n", up.URL)
	for _, path := range []string{"/v1/../admin", "/v1/%2e%2e/admin", "/v1/.%2E/admin", "/v1/x/../../admin", "/v1/..", "/v1/..%2fadmin",
		"/v1/./models", "/v1/%2E"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		got, _ := io.ReadAll(c)
		_ = c.Close()
		if !bytes.HasPrefix(got, []byte("HTTP/1.1 400 ")) || !bytes.Contains(got, []byte("bad_path")) {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{"/v1/..a", "/v1/a..", "/v1/...", "/v1/a%2Fb"} {
		resp, err := http.Get(g.url + path)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, resp, err)
		}
		_ = resp.Body.Close()
	}
	if n := asked.Load(); n != 4 {
		t.Errorf("asked %d times", n)
	}
}
