package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A stream was opened, with heartbeats, before its service spoke; the service
// then states an error in another framing. It comes as an event of the framing
// that the client was told.
func TestLateErrorInAnotherFraming(t *testing.T) {
	for _, path := range []string{"/v1beta/models/m:streamGenerateContent?alt=sse"} {
		url := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(300 * time.Millisecond)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"error":{"code":503,"message":"told to fail","status":"UNAVAILABLE"}}`)
		})
		g := start(t, "upstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/*\", upstream: main, open: {mode: early, hold: 10ms}, heartbeat: 20ms, retry: {attempts: 1}}]\n", url)
		resp := post(t, g.url+path, `{"contents":[]}`)
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK { // the machine was slow: it is HTTP's to tell
			continue
		}
		body := strings.TrimSuffix(string(b), "\n\n")
		events := 0
		for _, block := range strings.Split(body, "\n\n") {
			switch {
			case strings.HasPrefix(block, "data: {") && strings.Contains(block, "told to fail"):
				events++
			case !strings.HasPrefix(block, ": "):
				t.Errorf("%s: %q is no event", path, block)
			}
		}
		if events != 1 {
			t.Errorf("%s: %d errors in %q", path, events, b)
		}
	}
}

// The framing of a stream that opens before its service speaks is the one that
// the client asked for: Gemini's without alt=sse is a JSON array, and comes
// unchanged.
func TestLateArrayIsAnArray(t *testing.T) {
	array := "[{\n  \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"a\"}]}}]\n}\n,\r\n{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\"}]},\"finishReason\":\"STOP\"}]}]\n"
	for name, c := range map[string]struct{ sent, want string }{
		"whole": {array, array},
		"error": {`{"error":{"code":503,"message":"told to fail","status":"UNAVAILABLE"}}`, `[{"error":{"message":"told to fail","code":503,"status":"UNAVAILABLE"`},
		"cut":   {`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"error":{`},
	} {
		g := start(t, early, scripted(t, late("application/json", c.sent)))
		resp := post(t, g.url+"/v1beta/models/m:streamGenerateContent?key=x", `{"contents":[]}`)
		got := text(t, resp)
		if resp.StatusCode != http.StatusOK { // the machine was slow: it is HTTP's to tell
			continue
		}
		if !strings.HasPrefix(got, c.want) || resp.Header.Get("Content-Type") != "application/json" || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s %q", name, resp.Header.Get("Content-Type"), got)
		}
	}
}

// A service that answers late in another framing than the one that the client
// was told: nothing is translated, and nothing mixed; the stream ends in one
// error frame of its own framing.
func TestLateAnswerInAnotherFraming(t *testing.T) {
	for _, c := range []struct{ path, kind, sent string }{
		{"/v1beta/models/m:streamGenerateContent?alt=sse", "application/json", `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}]`},
		{"/v1beta/models/m:streamGenerateContent", "text/event-stream", "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n"},
		{"/v1/chat/completions", "application/x-ndjson", `{"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n"},
		{"/v1/chat/completions", "application/x-ndjson", `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`},
		{"/api/chat", "text/event-stream", "data: {\"message\":{\"content\":\"a\"},\"done\":false}\n\n"},
		{"/api/chat", "text/event-stream", "data: {\"message\":{\"content\":\"a\"},\"done\":true}"},
	} {
		g := start(t, early, scripted(t, late(c.kind, c.sent)))
		resp := post(t, g.url+c.path, `{"stream":true}`)
		got := text(t, resp)
		if strings.HasPrefix(resp.Header.Get("Content-Type"), c.kind) { // the machine was slow: the service's own headers opened it
			continue
		}
		if strings.Count(got, "other_framing") < 1 || strings.Count(got, `"error":`) != 1 || strings.Contains(got, `"a"`) {
			t.Errorf("%s %s: %q", c.path, c.kind, got)
		}
		if strings.Contains(c.path, "alt=sse") || strings.HasPrefix(c.path, "/v1/") {
			if !strings.Contains(got, "data: {") {
				t.Errorf("%s: no event of SSE: %q", c.path, got)
			}
		} else if !json.Valid([]byte(got)) {
			t.Errorf("%s: no JSON: %q", c.path, got)
		}
	}
}

const early = "upstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/*\", upstream: main, open: {mode: early, hold: 10ms}, heartbeat: 20ms, retry: {attempts: 1}}]\n"

// late is a service that answers after the hold.
func late(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(300 * time.Millisecond)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}
}
