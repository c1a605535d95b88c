package gateway

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"weir/telemetry"
)

// asked is how a dialect is asked for a stream, and what a heartbeat of the
// gateway looks like in it: "" = there is none that its clients ignore.
var asked = []struct{ name, path, body, heartbeat string }{
	{"openai.chat", "/v1/chat/completions", `{"model":"mock","stream":true,"messages":[{"role":"user","content":"hello"}]}`, ": hb\n"},
	{"openai.responses", "/v1/responses", `{"model":"mock","stream":true,"input":"hello"}`, ": hb\n"},
	{"anthropic", "/v1/messages", `{"model":"mock","stream":true,"max_tokens":99,"messages":[{"role":"user","content":"hello"}]}`, "event: ping\n"},
	{"gemini", "/v1beta/models/mock:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"hello"}]}]}`, ": hb\n\n"},
	{"ollama", "/api/chat", `{"model":"mock","messages":[{"role":"user","content":"hello"}]}`, ""},
}

// The SDKs' tests above prove something only if what they must ignore was sent.
func TestWhatTheSDKsHadToIgnore(t *testing.T) {
	m, count := upstream(t), telemetry.NewGateway(telemetry.Options{})
	comment := regexp.MustCompile(`(?m)(\A|^\n):[^\n]*\n\n`)
	id := regexp.MustCompile(`(?m)^id: [0-9a-f]{32}\.`)
	for _, c := range setups[1:] {
		url := start(t, m, c, count)
		for _, a := range asked {
			header, body := ask(t, url+a.path, a.body, c.headers != "")
			switch beats := strings.Count(body, a.heartbeat); {
			case a.heartbeat != "" && beats == 0:
				t.Errorf("%s, %s: no heartbeat was sent", c.name, a.name)
			case a.heartbeat == "" && strings.Contains(body, ": hb"):
				t.Errorf("%s, %s: a heartbeat where there is none", c.name, a.name)
			}
			if a.heartbeat == ": hb\n" && strings.Contains(body, ": hb\n\n") {
				t.Errorf("%s, %s: a heartbeat with a blank line, which openai-go 1.x takes for an event", c.name, a.name)
			}
			if c.headers != "" && a.name != "gemini" && comment.MatchString(body) {
				t.Errorf("%s, %s: a blank line after a comment, which openai-python takes for an event once it has seen an id", c.name, a.name)
			}
			wantIDs := c.headers != "" && a.name != "gemini" && a.name != "ollama"
			if id.MatchString(body) != wantIDs {
				t.Errorf("%s, %s: ids: %v, want %v", c.name, a.name, !wantIDs, wantIDs)
			}
			resumable := strings.Contains(c.route, "resume") || c.headers != ""
			if got := header.Get("Weir-Resumable") == "true"; got != resumable || header.Get("Weir-Stream") == "" {
				t.Errorf("%s, %s: resumable %v, stream %q; want %v and an id", c.name, a.name, got, header.Get("Weir-Stream"), resumable)
			}
		}
	}
}

// ask gives an answer to the slow request, in which the service beats too.
func ask(t *testing.T, url, body string, ids bool) (http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Weir-Mock", slow+",heartbeat_every=25ms") // the service's own
	if ids {
		r.Header.Set("Weir-Resume", "1")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", url, resp.StatusCode, err, b)
	}
	return resp.Header, string(b)
}
