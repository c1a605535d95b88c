package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// flushes counts what leaves for a client.
type flushes struct {
	*httptest.ResponseRecorder
	n int
}

func (f *flushes) Flush() { f.n++; f.ResponseRecorder.Flush() }

// TestEventsOfOneReadLeaveTogether: what a service sends at once is not taken
// apart into a write and a flush for each event, and stays in order.
func TestEventsOfOneReadLeaveTogether(t *testing.T) {
	const events = 200
	var whole strings.Builder
	for i := range events {
		fmt.Fprintf(&whole, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d \"}}]}\n\n", i)
	}
	whole.WriteString("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	url := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(whole.String()))
	})
	for _, resume := range []string{"false", "true"} {
		g := start(t, "upstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/*\", upstream: main, open: {mode: early}, resume: {enabled: "+resume+"}}]\n", url)
		w := &flushes{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(ask1))
		g.g.Handler().ServeHTTP(w, r)
		if got := w.Body.String(); got != whole.String() {
			t.Errorf("resume %s: the stream is another: %d bytes for %d", resume, len(got), whole.Len())
		}
		if w.n > events/4 {
			t.Errorf("resume %s: %d flushes for %d events that came at once", resume, w.n, events)
		}
	}
}
