package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"weir/stream"
)

// A service that answers the request for a stream with nothing, and says so, is
// passed on as it is; the record says that nothing came.
func TestEmptyAnswersPassPlainly(t *testing.T) {
	for _, c := range []struct {
		status          int
		contentType, cl string
		want            int
	}{
		{204, "", "", 204},
		{204, "text/event-stream", "", 204},
		{205, "", "0", 205},
		{202, "", "0", 202},
		{202, "application/json", "0", 202},
		{200, "", "0", 200},
		{200, "", "", 200},
		{200, "text/event-stream", "0", 502}, // it says that it is a stream, and is cut
	} {
		for _, version := range []string{"1.1", "h2c"} {
			name := fmt.Sprintf("%d %q %q %s", c.status, c.contentType, c.cl, version)
			var asked atomic.Int64
			url := scriptedBoth(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				if w.Header()["Content-Type"] = nil; c.contentType != "" {
					w.Header().Set("Content-Type", c.contentType)
				}
				if c.cl != "" {
					w.Header().Set("Content-Length", c.cl)
				}
				w.WriteHeader(c.status)
				_ = http.NewResponseController(w).Flush()
			})
			g := start(t, "upstreams: {main: {urls: [%q], http: %q}}\nroutes: [{path: \"/*\", upstream: main, retry: {backoff: 1ms}}]\n", url, version)
			resp := post(t, g.url+"/v1/chat/completions", ask1)
			got := text(t, resp)
			until(t, "the record", func() bool { return len(g.all()) == 1 })
			r := g.all()[0].Records[0]
			if resp.StatusCode != c.want {
				t.Errorf("%s: %d %q", name, resp.StatusCode, got)
			}
			if c.want < 300 && (got != "" || asked.Load() != 1 || r.Outcome != stream.Truncated || r.Reason != "empty") {
				t.Errorf("%s: %q, asked %d times, %s %s", name, got, asked.Load(), r.Outcome, r.Reason)
			}
		}
	}
}

// What is no stream is said to be none.
func TestAPlainAnswerIsNoStream(t *testing.T) {
	g := start(t, small, scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[]}`)
	}))
	_ = text(t, post(t, g.url+"/v1/chat/completions", ask1))
	until(t, "the record", func() bool { return len(g.all()) == 1 })
	if r := g.all()[0].Records[0]; r.Outcome != stream.ErrorEarly || r.Reason != "not_a_stream" {
		t.Errorf("%s %q", r.Outcome, r.Reason)
	}
}

// A refusal larger than what is kept for a retry comes whole where there is
// none, and where it is lost the client is told so.
func TestLargeRefusals(t *testing.T) {
	want := `{"error":{"message":"` + strings.Repeat("x", 3<<20) + `"}}`
	for _, c := range []struct {
		name     string
		status   int
		attempts int
		length   bool
	}{
		{"not retried", 400, 2, true},
		{"not retried, chunked", 400, 2, false},
		{"the last", 503, 1, true},
		{"the second", 503, 2, true},
	} {
		g := start(t, "upstreams: {main: {urls: [%q]}}\nroutes: [{path: \"/*\", upstream: main, retry: {attempts: %d, backoff: 1ms}}]\n",
			scripted(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.length {
					w.Header().Set("Content-Length", fmt.Sprint(len(want)))
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, want)
			}), c.attempts)
		resp := post(t, g.url+"/v1/chat/completions", ask1)
		if got := text(t, resp); got != want || resp.StatusCode != c.status {
			t.Errorf("%s: %d, %d of %d bytes", c.name, resp.StatusCode, len(got), len(want))
		}
		until(t, "the record", func() bool { return len(g.all()) == 1 })
		if r := g.all()[0].Records[0]; r.Outcome != stream.ErrorEarly || r.Reason != fmt.Sprintf("http_%d", c.status) {
			t.Errorf("%s: %s %q", c.name, r.Outcome, r.Reason)
		}
	}
	for name, broken := range map[string]bool{"too large": false, "broken": true} {
		g := start(t, small, scripted(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1000") // for which the gateway does not wait
			w.Header().Set("Content-Length", fmt.Sprint(len(want)))
			w.WriteHeader(http.StatusServiceUnavailable)
			if broken {
				_, _ = io.WriteString(w, want[:1000])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, want)
		}))
		resp := post(t, g.url+"/v1/chat/completions", ask1)
		got := text(t, resp)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1000" || len(got) > 1000 ||
			!strings.Contains(got, `"reason":"http_503"`) || !strings.Contains(got, "left out") {
			t.Errorf("%s: %d %v %.300q", name, resp.StatusCode, resp.Header, got)
		}
	}
}

// An answer to HEAD says what one to GET would have brought.
func TestHeadKeepsTheLength(t *testing.T) {
	for _, status := range []int{200, 404, 503} {
		for _, version := range []string{"1.1", "h2c"} {
			url := scriptedBoth(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1234")
				w.WriteHeader(status)
			})
			g := start(t, "upstreams: {main: {urls: [%q], http: %q}}\nroutes: [{path: \"/v1/*\", upstream: main, retry: {attempts: 1}}]\n", url, version)
			resp, err := http.Head(g.url + "/v1/models")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != status || resp.Header.Get("Content-Length") != "1234" {
				t.Errorf("%d %s: %d, length %q", status, version, resp.StatusCode, resp.Header.Get("Content-Length"))
			}
			if resp, err = http.Head(g.url + "/none"); err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if n := resp.Header.Get("Content-Length"); resp.StatusCode != http.StatusNotFound || n == "0" {
				t.Errorf("the gateway's own: %d, length %q", resp.StatusCode, n)
			}
		}
	}
}

// Records are numbered in their order, those of one request by one number:
// reports name requests by it.
func TestRecordsAreNumbered(t *testing.T) {
	two := `data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"},{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}]}` + "\n\n"
	g := start(t, small, scripted(t, sse(two, chatDone)))
	for i := range 3 {
		_ = text(t, post(t, g.url+"/v1/chat/completions", ask1))
		until(t, "the record", func() bool { return len(g.all()) == i+1 })
	}
	n := 0
	for _, e := range g.all() {
		for _, r := range e.Records {
			if r.Index != n {
				t.Errorf("%s has number %d, want %d", r.RequestID, r.Index, n)
			}
		}
		if len(e.Records) > 0 {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d requests with records", n)
	}
}
