package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/stream"
)

// dialects are requests of every protocol the mock serves as a stream.
var dialects = []struct{ name, path, body string }{
	{"openai.chat", "/v1/chat/completions", ask1},
	{"openai.responses", "/v1/responses", `{"model":"m","stream":true,"input":"hi"}`},
	{"anthropic", "/v1/messages", `{"model":"m","stream":true,"max_tokens":50,"messages":[{"role":"user","content":"hi"}]}`},
	{"gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"hi"}]}]}`},
	{"gemini array", "/v1beta/models/m:streamGenerateContent", `{"contents":[{"parts":[{"text":"hi"}]}]}`},
	{"dify", "/v1/chat-messages", `{"inputs":{},"query":"hi","response_mode":"streaming","user":"u"}`},
	{"ollama", "/api/chat", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`},
	{"article", "/custom/chat", `{"model":"m","stream":true}`},
}

// unstamped removes what two answers of the mock may differ in: its clock.
func unstamped(s string) string {
	for _, key := range []string{`"service_time_ms":`, `"created_at":`, `"created":`, `_duration":`, `"latency":`, `_ms":`, `"elapsed_time":`, `"createTime":`, `_at":`, `"time_to_first_token":`, `"time_to_generate":`} {
		parts := strings.Split(s, key)
		for i := range parts[1:] {
			if j := strings.IndexAny(parts[i+1], ",}\n"); j >= 0 {
				parts[i+1] = parts[i+1][j:]
			}
		}
		s = strings.Join(parts, key)
	}
	return s
}

func TestEveryDialectPassesUnchanged(t *testing.T) {
	m := startMock(t, "ttft=5ms,gap=1ms,n=12")
	g := start(t, small, m.URL())
	for _, d := range dialects {
		for _, form := range []string{"", "crlf=1", "nospace=1", "cut=utf8&lang=zh", "cut=crlf", "heartbeat_every=2ms"} {
			t.Run(d.name+" "+form, func(t *testing.T) {
				path := d.path + "?" + form
				if strings.Contains(d.path, "?") {
					path = d.path + "&" + form
				}
				direct := post(t, m.URL()+path, d.body, "x-request-id", "request-1")
				through := post(t, g.url+path, d.body, "x-request-id", "request-1")
				want, got := text(t, direct), text(t, through)
				if form == "heartbeat_every=2ms" {
					want, got = withoutHeartbeats(want), withoutHeartbeats(got)
				}
				if unstamped(want) != unstamped(got) {
					t.Errorf("direct:\n%s\nthrough the gateway:\n%s", want, got)
				}
				if want, got := direct.Header.Get("Content-Type"), through.Header.Get("Content-Type"); got != want {
					t.Errorf("content type %q, want %q", got, want)
				}
			})
		}
	}
	for _, r := range g.records {
		if r.Outcome != stream.Complete {
			t.Errorf("%s %s: %s %s", r.Dialect, r.Target, r.Outcome, r.Reason)
		}
	}
}

// withoutHeartbeats drops what comes at the clock's will.
func withoutHeartbeats(s string) string {
	var out []string
	for _, block := range strings.SplitAfter(s, "\n") {
		if strings.HasPrefix(block, ":") || strings.Contains(block, "ping") || strings.Contains(block, "heartbeat") || block == "\n" {
			continue
		}
		out = append(out, block)
	}
	return strings.Join(out, "")
}

func TestStreamHeaders(t *testing.T) {
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("accept-encoding %q towards the upstream", got)
		}
		w.Header().Set("Cache-Control", "public")
		w.Header().Set("X-Request-Id", "upstream-1")
		w.Header().Set("Openai-Processing-Ms", "12")
		sse(chat("a"), chatFinish, chatDone)(w, r)
	})
	g := start(t, small, up)
	resp := post(t, g.url+"/v1/chat/completions", ask1, "Accept-Encoding", "gzip", "X-Request-Id", "client-0001")
	if got := text(t, resp); got != chat("a")+chatFinish+chatDone {
		t.Errorf("body %q", got)
	}
	for key, want := range map[string]string{
		"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Incremental": "?1", "Content-Encoding": "",
		"X-Request-Id": "client-0001", "X-Upstream-Request-Id": "upstream-1", "Openai-Processing-Ms": "12", "Weir-Resumable": "false",
	} {
		if got := resp.Header.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	for _, phase := range []string{"queue;dur=", "auth;dur=", "route;dur=", "connect;dur=", "upstream;dur=", "first_output;dur="} {
		if !strings.Contains(resp.Header.Get("Server-Timing"), phase) {
			t.Errorf("Server-Timing %q lacks %s", resp.Header.Get("Server-Timing"), phase)
		}
	}
}

// What is no stream passes plainly: body, status, length.
func TestPlainAnswers(t *testing.T) {
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Etag", `"x"`)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+string(b))
	})
	g := start(t, small, up+"/base")
	resp := post(t, g.url+"/v1/files/a%2Fb?x=1&y=%20", `{"a":1}`)
	if got, want := text(t, resp), `POST /base/v1/files/a%2Fb?x=1&y=%20 {"a":1}`; got != want || resp.StatusCode != http.StatusCreated || resp.Header.Get("Etag") == "" {
		t.Errorf("%d %q, want %q", resp.StatusCode, got, want)
	}
	for _, method := range []string{"GET", "DELETE", "HEAD"} {
		req, _ := http.NewRequest(method, g.url+"/v1/models", nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		want := method + " /base/v1/models "
		if method == "HEAD" {
			want = ""
		}
		if got := text(t, resp); got != want || resp.StatusCode != http.StatusCreated {
			t.Errorf("%s: %d %q", method, resp.StatusCode, got)
		}
		_ = resp.Body.Close()
	}
}

func TestEventsAreFlushedAsTheyCome(t *testing.T) {
	next := make(chan bool)
	up := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for range next {
			_, _ = io.WriteString(w, chat("x"))
			_ = http.NewResponseController(w).Flush()
		}
	})
	g := start(t, small, up)
	go func() { next <- true }()
	resp := post(t, g.url+"/v1/chat/completions", ask1)
	buf := make([]byte, len(chat("x")))
	for i := range 5 {
		if i > 0 {
			next <- true // only now is there another event
		}
		if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != chat("x") {
			t.Fatalf("event %d: %q %v", i, buf, err)
		}
	}
	close(next)
}

// An answer that is no stream, to a request for one, comes whole whatever its
// size.
func TestLargeAnswerInPlaceOfAStream(t *testing.T) {
	for _, n := range []int{0, 1000, 1<<20 - 9, 1 << 20, 1<<20 + 1, 5<<20 + 77} {
		want := `{"data":"` + strings.Repeat("x", n) + `"}`
		for name, length := range map[string]string{"length": fmt.Sprint(len(want)), "chunked": ""} {
			up := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				_, _ = io.WriteString(w, want)
			})
			g := start(t, small, up)
			if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); got != want {
				t.Errorf("%s: %d of %d bytes", name, len(got), len(want))
			}
		}
	}
}
