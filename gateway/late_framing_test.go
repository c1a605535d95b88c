package gateway

import (
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
	for _, path := range []string{"/v1beta/models/m:streamGenerateContent", "/v1beta/models/m:streamGenerateContent?alt=sse"} {
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
