package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// halfSent is a request whose head came, and of its body what the test sends.
type halfSent struct {
	net.Conn
	t *testing.T
}

func sendHalf(t *testing.T, url, path, header, body string) halfSent {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n%s\r\n\r\n%s", path, header, body)
	return halfSent{c, t}
}

// answer waits for the answer's status and body.
func (c halfSent) answer() (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(b)
}

func (g *rig) let() (in, waiting int) {
	g.g.gate.mu.Lock()
	defer g.g.gate.mu.Unlock()
	return g.g.gate.active, len(g.g.gate.waiting)
}

// Whoever is refused is told so before its body came: nobody makes the gateway
// hold what it will not use, nor wait for it.
func TestRefusedBeforeTheBody(t *testing.T) {
	keys := fileOf(t, "keys.yaml", "keys: [{name: a, key: mine-of-a-length}]\n")
	url, asked, _ := upstreamThatTells(t, sse(chat("a")))
	g := start(t, "upstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/v1/*\", upstream: main}]\nlimits: {streams: 1, queue: 0}\nkeys: {mode: file, file: %q}\n", url, keys)
	first := post(t, g.url+"/v1/chat/completions", ask1, "Authorization", "Bearer mine-of-a-length")
	within(t, "the upstream is asked", asked)
	for _, c := range []struct {
		path, key, reason string
		status            int
	}{
		{"/v1/chat/completions", "mine", "overloaded_full", 503},
		{"/v1/chat/completions", "other", "unauthorized", 401},
		{"/v2/chat/completions", "mine", "no_route", 404},
		{"/weir/streams/0123/stop", "mine", "", 404},
	} {
		for _, length := range []string{"Content-Length: 1000", "Content-Length: 5000000", "Transfer-Encoding: chunked", "Content-Length: 9\r\nExpect: 100-continue"} {
			resp, body := sendHalf(t, g.url, c.path, "Authorization: Bearer "+c.key+"-of-a-length"+"\r\n"+length, "").answer()
			if resp.StatusCode != c.status || !strings.Contains(body, c.reason) || c.status == 503 && resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s %s %s: %d %v %q", c.path, c.key, length, resp.StatusCode, resp.Header, body)
			}
		}
	}
	_ = first.Body.Close()
	until(t, "the place is free", func() bool { return g.g.gate.count() == 0 })
}

// A body that stops, or comes drop by drop, is not waited for without end.
func TestABodyThatDoesNotCome(t *testing.T) {
	g := start(t, small+"limits: {body_wait: 100ms}\n", scripted(t, sse(chat("a"), chatFinish, chatDone)))
	for name, drops := range map[string]bool{"stops": false, "drop by drop": true} {
		c := sendHalf(t, g.url, "/v1/chat/completions", "Content-Length: 1000000", `{"stream":true`)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for drops {
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		resp, body := c.answer()
		if resp.StatusCode != http.StatusRequestTimeout || !strings.Contains(body, `"reason":"body_timeout","retryable":true`) || !resp.Close {
			t.Errorf("%s: %d %v %q", name, resp.StatusCode, resp.Header, body)
		}
		_ = c.Close()
		<-ended
	}
	until(t, "every place is free", func() bool { return g.g.gate.count() == 0 })
}

// A body that comes slowly, but comes, is read whole: what is limited is each
// piece of it, and the wait ends with the body.
func TestASlowBodyIsReadWhole(t *testing.T) {
	seen := make(chan int, 1)
	g := start(t, small+"limits: {body_wait: 1500ms}\n", scripted(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen <- len(b)
		sse(chat("a"), "2s", chatFinish, chatDone)(w, r) // the deadline of the body passes
	}))
	body := strings.TrimSuffix(ask1, "}") + `,"x":"` + strings.Repeat("x", 50_000) + `"}`
	c := sendHalf(t, g.url, "/v1/chat/completions", fmt.Sprintf("Content-Length: %d", len(body)), "")
	for i := 0; i < len(body); i += 10_000 {
		_, _ = c.Write([]byte(body[i:min(i+10_000, len(body))]))
		time.Sleep(300 * time.Millisecond)
	}
	resp, got := c.answer()
	if n := <-seen; n != len(body) || resp.StatusCode != http.StatusOK || got != chat("a")+chatFinish+chatDone {
		t.Errorf("%d of %d bytes: %d %q", n, len(body), resp.StatusCode, got)
	}
	until(t, "the record", func() bool { return len(g.all()) == 1 })
	var timing string
	for part := range strings.SplitSeq(resp.Header.Get("Server-Timing"), ", ") {
		if strings.HasPrefix(part, "queue;dur=") {
			timing = part
		}
	}
	var queued float64
	if _, err := fmt.Sscanf(timing, "queue;dur=%f", &queued); err != nil || queued > 1000 {
		t.Errorf("the time of the body counts as queue: %q, %v", timing, err)
	}
}

// The bodies in memory are those of streams and queue, and no more; who leaves
// in the middle of its body gives its place, or its turn, back.
func TestBodiesInMemoryAreCounted(t *testing.T) {
	g := start(t, small+"limits: {streams: 1, queue: 1}\n", scripted(t, sse(chat("a"), chatFinish, chatDone)))
	half := func() halfSent {
		return sendHalf(t, g.url, "/v1/chat/completions", "Content-Length: 1000000", `{"stream":true`)
	}
	first := half()
	until(t, "the first has a place", func() bool { in, _ := g.let(); return in == 1 })
	second := half()
	until(t, "the second waits", func() bool { _, waiting := g.let(); return waiting == 1 })
	if resp, body := half().answer(); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "overloaded_full") {
		t.Errorf("a third: %d %q", resp.StatusCode, body)
	}
	_ = second.Close()
	until(t, "the second's turn is given back", func() bool { _, waiting := g.let(); return waiting == 0 })
	third := half()
	until(t, "another waits", func() bool { _, waiting := g.let(); return waiting == 1 })
	_ = first.Close()
	until(t, "it has the place", func() bool { in, waiting := g.let(); return in == 1 && waiting == 0 })
	_ = third.Close()
	until(t, "the place is free", func() bool { return g.g.gate.count() == 0 })
}

// Over HTTP/2 a body has its time too, and a refusal does not wait for one.
func TestBodiesOverHTTP2(t *testing.T) {
	g := start(t, small+"limits: {body_wait: 100ms}\n", scripted(t, sse(chat("a"), chatFinish, chatDone)))
	url := h2c(t, g.g.Handler())
	client := &http.Client{Transport: h2cClient(t)}
	for path, want := range map[string]int{"/v1/chat/completions": http.StatusRequestTimeout, "/weir/streams/0123/stop": http.StatusNotFound} {
		body, send := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(send, `{"stream":true`) }()
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, resp); resp.StatusCode != want {
			t.Errorf("%s: %d %q", path, resp.StatusCode, got)
		}
		_ = resp.Body.Close()
		_ = send.Close()
	}
	resp, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(ask1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := text(t, resp); got != chat("a")+chatFinish+chatDone {
		t.Errorf("the connection afterwards: %q", got)
	}
	until(t, "every place is free", func() bool { return g.g.gate.count() == 0 })
}
