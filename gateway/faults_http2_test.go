package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/relay"
)

// h2c serves a handler over HTTP/2 in the clear.
func h2c(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// h2cClient holds all its streams on one connection.
func h2cClient(t *testing.T) *http.Transport {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// Write deadlines reach the stream over HTTP/2 too (adanalife/tripbot#720): a
// client that reads one of two streams on a connection loses the other, and
// only that.
func TestDeafStreamOverHTTP2(t *testing.T) {
	event := chat(strings.Repeat("x", 8<<10))
	url, _, gone := upstreamThatTells(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/ok") {
			sse(chat("a"), "1500ms", chat("b"), chatFinish, chatDone)(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
		}
	})
	g := start(t, `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, slow_client: {policy: block, write_timeout: 300ms}}]
`, url)
	front, tr := h2c(t, g.g.Handler()), h2cClient(t)
	ask := func(path string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front+path, strings.NewReader(ask1))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatalf("%v, %v", resp, err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	ask("/deaf/v1/chat/completions") // its body is never read
	heard := ask("/ok/v1/chat/completions")
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the deaf stream's upstream is still busy: no write deadline ended it")
	}
	if got := text(t, heard); got != chat("a")+chat("b")+chatFinish+chatDone {
		t.Errorf("the stream beside it: %.300q", got)
	}
}

// A write deadline is for writes: over HTTP/2, where a stream is reset when its
// deadline passes, silence that is longer cuts neither the stream nor a reader
// who follows it.
func TestSilenceOverHTTP2IsNoDeadline(t *testing.T) {
	want := chat("a") + chat("b") + chatFinish + chatDone
	up := scripted(t, sse(chat("a"), "1200ms", chat("b"), chatFinish, chatDone))
	g := startLog(t, relay.MemoryOptions{}, `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, heartbeat: 0, resume: {enabled: true}, slow_client: {write_timeout: 300ms}}]
`, up)
	front, tr := h2c(t, g.g.Handler()), h2cClient(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front+"/v1/chat/completions", strings.NewReader(ask1))
	if err != nil {
		t.Fatal(err)
	}
	owner, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Body.Close()
	req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, front+"/weir/streams/"+owner.Header.Get("Weir-Stream"), nil)
	if err != nil {
		t.Fatal(err)
	}
	follower, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Body.Close()
	for who, r := range map[string]*http.Response{"owner": owner, "follower": follower} {
		if got, err := io.ReadAll(r.Body); err != nil || string(got) != want {
			t.Errorf("the %s: %v after %q", who, err, got)
		}
	}
}

// A stream that the upstream resets before its headers is asked of the next,
// whatever the code: the body is there to be sent again (Wei-Shaw/sub2api#6900).
func TestHTTP2UpstreamThatResets(t *testing.T) {
	whole := chatRole + chat("good") + chatFinish + chatDone
	bad := h2c(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	good := h2c(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); string(b) != ask1 {
			t.Errorf("the second attempt's body: %q", b)
		}
		sse(whole)(w, r)
	}))
	g := start(t, strings.Replace(two, `urls: ["%s", "%s"]`, `urls: ["%s", "%s"], http: h2c`, 1), bad, good)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, err := tryPost(ctx, g.url+"/v1/chat/completions", ask1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := text(t, resp); got != whole || len(g.retried) != 1 {
		t.Errorf("%d %q, retries %q", resp.StatusCode, got, g.retried)
	}
}
