package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A service that keeps its connection open after the last event of its answer
// does not keep the client: the answer ends there. The connection is used again
// if the service ends soon after.
func TestTheAnswerEndsWithItsLastEvent(t *testing.T) {
	stop := "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	anthropic := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{}}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n"
	for _, c := range []struct{ name, path, kind, events string }{
		{"openai.chat", "/v1/chat/completions", "text/event-stream", chat("a") + chatFinish + chatDone},
		{"anthropic", "/v1/messages", "text/event-stream", anthropic + stop},
		{"ollama", "/api/chat", "application/x-ndjson", `{"model":"m","message":{"role":"assistant","content":"a"},"done":false}` + "\n" + `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}` + "\n"},
	} {
		for _, version := range []string{"1.1", "h2c"} {
			t.Run(c.name+" "+version, func(t *testing.T) {
				release, cut := make(chan struct{}), make(chan bool, 2)
				from := make(chan string, 2)
				url := scriptedBoth(t, func(w http.ResponseWriter, r *http.Request) {
					from <- r.RemoteAddr
					w.Header().Set("Content-Type", c.kind)
					_, _ = fmt.Fprint(w, c.events)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-release:
						cut <- false
					case <-r.Context().Done():
						cut <- true
					}
				})
				g := start(t, "upstreams: {main: {urls: [%q], http: %q}}\nroutes: [{path: \"/*\", upstream: main}]\n", url, version)
				if got := text(t, post(t, g.url+c.path, ask1)); got != c.events {
					t.Errorf("%q", got)
				}
				select {
				case <-cut:
					t.Fatal("the client's end came with the upstream's cut")
				default:
				}
				until(t, "the record", func() bool { return len(g.all()) == 1 })
				close(release)
				if <-cut {
					t.Error("the service was cut, though it ended soon after")
				}
				until(t, "the connection is free", func() bool { return g.g.drains.Load() == 0 })
				if got := text(t, post(t, g.url+c.path, ask1)); got != c.events {
					t.Errorf("again: %q", got)
				}
				if a, b := <-from, <-from; a != b {
					t.Errorf("the connection was not used again: %s, %s", a, b)
				}
			})
		}
	}
}

// A service that never ends is cut, and does not hold up the gateway's own end.
func TestADrainIsBounded(t *testing.T) {
	gone := make(chan struct{})
	url := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sse(chat("a")+chatFinish+chatDone, "wait")(w, r)
		close(gone)
	})
	g := start(t, small, url)
	if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.HasSuffix(got, chatDone) {
		t.Errorf("%q", got)
	}
	g.g.Close()
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		t.Error("the service was not cut")
	}
}

// Usage that comes after the finish reason, and after a pause, is waited for.
func TestLateUsageIsWaitedFor(t *testing.T) {
	usage := `data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}` + "\n\n"
	g := start(t, small, scripted(t, sse(chat("a"), chatFinish, "1500ms", usage, chatDone, "wait")))
	if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); got != chat("a")+chatFinish+usage+chatDone {
		t.Errorf("%q", got)
	}
}

// scriptedBoth is scripted, over HTTP/1.1 and h2c.
func scriptedBoth(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
