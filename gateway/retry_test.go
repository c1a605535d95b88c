package gateway

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"weir/stream"
)

const two = `
upstreams: {main: {urls: ["%s", "%s"]}}
routes:
  - path: "/*"
    upstream: main
    retry: {attempts: 2, backoff: 1ms, first_output: 300ms}
`

// Before the first output a failure is a retry that nobody sees.
func TestRetryNobodySees(t *testing.T) {
	whole := chatRole + chat("good") + chatFinish + chatDone
	for name, bad := range map[string]http.HandlerFunc{
		"503":                  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"429":                  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"no headers":           func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"reset before headers": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"silent":               sse(chatRole, "wait"),
		"comments only":        sse(": a\n\n", "100ms", ": b\n\n", "100ms", ": c\n\n", "100ms", ": d\n\n", "wait"),
		"reset when held":      sse(chatRole, "20ms", "reset"),
		"truncated when held":  sse(chatRole),
		"empty":                sse(""),
		"error before output":  sse(chatRole, `data: {"error":{"code":"rate_limit_exceeded","message":"slow down"}}`+"\n\n"),
		"error in a 200": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"error":{"code":503,"message":"x"}}`)
		},
		"sentinel without words": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			good := scripted(t, sse(whole))
			g := start(t, two, scripted(t, bad), good)
			resp := post(t, g.url+"/v1/chat/completions", ask1)
			if got := text(t, resp); got != whole || resp.StatusCode != http.StatusOK {
				t.Errorf("%d %q", resp.StatusCode, got)
			}
			if len(g.retried) != 1 {
				t.Errorf("retries told: %q", g.retried)
			}
			e := g.all()[0]
			if len(e.Records) != 1 || e.Records[0].Outcome != stream.Complete || len(e.Records[0].Notes) == 0 {
				t.Errorf("%+v", e.Records)
			}
		})
	}
}

// OpenAI Responses sends response.created before a quota error (bifrost #5395).
func TestResponsesQuotaErrorAfterCreated(t *testing.T) {
	bad := sse("event: response.created\n"+`data: {"type":"response.created","sequence_number":0,"response":{"id":"r"}}`+"\n\n",
		"event: error\n"+`data: {"type":"error","sequence_number":1,"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"q"}}`+"\n\n")
	g := start(t, two, scripted(t, bad), startMock(t, "ttft=1ms,n=3").URL())
	got := text(t, post(t, g.url+"/v1/responses", `{"stream":true,"input":"x"}`))
	if strings.Contains(got, "insufficient_quota") || !strings.Contains(got, "response.completed") {
		t.Errorf("got %q", got)
	}
}

func TestUnreachableIsRetried(t *testing.T) {
	g := start(t, two, "http://127.0.0.1:1", scripted(t, sse(chat("a")+chatFinish+chatDone)))
	if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.HasPrefix(got, chat("a")) {
		t.Errorf("got %q", got)
	}
}

// A failure that stays is a real HTTP status, the service's own where it gave one.
func TestFailuresBeforeOutputAreHTTP(t *testing.T) {
	for _, c := range []struct {
		name   string
		up     http.HandlerFunc
		status int
		has    string
	}{
		{"401", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"bad key"}}`)
		}, 401, "bad key"},
		{"429 with its wait", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "77")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 429, ""},
		{"truncated", sse(chatRole), 502, "upstream_truncated"},
		{"reset", sse(chatRole, "20ms", "reset"), 502, "upstream_reset"},
		{"in band", sse(`data: {"error":{"type":"invalid_request_error","message":"no such model"}}` + "\n\n"), 400, "no such model"},
		{"in a 200", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"error":{"message":"quota is over","code":"insufficient_quota"}}`)
		}, 429, "quota is over"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.test/", http.StatusTemporaryRedirect)
		}, 502, "upstream_redirect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := start(t, small, scripted(t, c.up))
			resp := post(t, g.url+"/v1/chat/completions", ask1)
			if got := text(t, resp); resp.StatusCode != c.status || !strings.Contains(got, c.has) {
				t.Errorf("%d %q", resp.StatusCode, got)
			}
			if c.status == 429 && c.has == "" && resp.Header.Get("Retry-After") != "77" {
				t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
			}
		})
	}
}

// After the first output nothing is ever sent again.
func TestNoReplayAfterOutput(t *testing.T) {
	var asked atomic.Int32
	up := func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		sse(chat("once"), "10ms", "reset")(w, r)
	}
	g := start(t, two, scripted(t, up), scripted(t, up))
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if strings.Count(got, "once") != 1 || asked.Load() != 1 || !strings.Contains(got, "upstream_reset") {
		t.Errorf("asked %d times: %q", asked.Load(), got)
	}
}

// The last attempt is never cut for being late.
func TestLastAttemptIsNotCut(t *testing.T) {
	slow := sse(chatRole, "600ms", chat("late")+chatFinish+chatDone)
	g := start(t, two, scripted(t, slow), scripted(t, slow))
	if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); !strings.Contains(got, "late") {
		t.Errorf("got %q", got)
	}
	if len(g.retried) != 1 || g.retried[0] != "first_output" {
		t.Errorf("retried %q", g.retried)
	}
}

// What a client saw is not said again by another attempt.
func TestNoRetryOnceAFrameWentOut(t *testing.T) {
	var asked atomic.Int32
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		sse("", "300ms", chatRole, "100ms", "reset")(w, r)
	})
	g := start(t, `
upstreams: {main: {urls: ["%s", "%s"]}}
routes: [{path: "/*", upstream: main, open: {hold: 50ms}, retry: {attempts: 2, backoff: 1ms}}]
`, up, up)
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if strings.Count(got, chatRole) != 1 || asked.Load() != 1 || !strings.Contains(got, "upstream_reset") {
		t.Errorf("asked %d times: %q", asked.Load(), got)
	}
}

// The log says what exactly went wrong with a service; its client is told the
// reason alone.
func TestLogSaysWhatWentWrong(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + l.Addr().String()
	_ = l.Close()
	g := start(t, small, dead)
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if log := g.logs.String(); !strings.Contains(log, "connection refused") || strings.Contains(got, "refused") {
		t.Errorf("log %s\nclient %s", log, got)
	}
}
