package gateway

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const askWhole = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

func (k *kept) retries() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.retried)
}

// wholeAfter answers whole, after some time.
func wholeAfter(d time.Duration, asked *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-time.After(d):
			_, _ = io.WriteString(w, `{"late":true}`)
		case <-r.Context().Done():
		}
	}
}

// A request for no stream is tried again too when its headers do not come in
// the time that the route states; the last attempt waits as long as it takes.
func TestPlainRequestsHaveAClockForTheirHeaders(t *testing.T) {
	t.Parallel()
	const never = time.Hour
	for _, c := range []struct {
		name, retry, path string
		first, second     time.Duration
		asked             int32
	}{
		{"silent", "first_output: 200ms", "/v1/chat/completions", never, 0, 2},
		{"both are late", "first_output: 100ms", "/v1/chat/completions", 600 * time.Millisecond, 600 * time.Millisecond, 2},
		{"not to be asked twice", "first_output: 100ms", "/anything", 500 * time.Millisecond, 0, 1},
		{"no limit is stated", "backoff: 1ms", "/v1/chat/completions", 500 * time.Millisecond, 0, 1},
		{"no retry", "attempts: 1, first_output: 100ms", "/v1/chat/completions", 500 * time.Millisecond, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			g := start(t, `
upstreams: {main: {urls: ["%s", "%s"]}}
routes: [{path: "/*", upstream: main, retry: {`+c.retry+`}}]
`, scripted(t, wholeAfter(c.first, &asked)), scripted(t, wholeAfter(c.second, &asked)))
			resp := post(t, g.url+c.path, askWhole)
			if got := text(t, resp); resp.StatusCode != http.StatusOK || got != `{"late":true}` || asked.Load() != c.asked {
				t.Errorf("asked %d times: %d %q", asked.Load(), resp.StatusCode, got)
			}
			if want := c.asked == 2; want != slices.Equal(g.retries(), []string{"first_output"}) {
				t.Errorf("retried %q", g.retries())
			}
		})
	}
}

// The default limit on the first output is one of streams: a whole answer of
// many tokens may rightly take longer.
func TestDefaultLimitIsOfStreams(t *testing.T) {
	c, err := Load("gateway.yaml", []byte("upstreams: {main: {urls: [\"http://a.test\", \"http://b.test\"]}}\nroutes: [{path: \"/*\", upstream: main}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for streamed, want := range map[bool]time.Duration{true: 30 * time.Second, false: 0} {
		x := &exchange{route: &route{Route: c.Routes[0], upstream: &upstream{Upstream: c.Upstreams["main"]}}, method: http.MethodGet, ask: ask{streamed: streamed}}
		clock := &clocks{s: &session{x: x}}
		clock.begin(func(error) {}, false)
		clock.stop()
		if clock.limit != want {
			t.Errorf("streamed %v: %s", streamed, clock.limit)
		}
	}
}

// What a route says of silence holds for an answer that is no stream, before
// its headers and within its body.
func TestSilenceOfPlainAnswers(t *testing.T) {
	t.Parallel()
	silentBody := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "some")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for _, c := range []struct {
		name, say string
		first     http.HandlerFunc
		status    int
		text      string
	}{
		{"end before headers", "end", wholeAfter(time.Hour, new(atomic.Int32)), 504, `"reason":"silence"`},
		{"end within the body", "end", silentBody, 200, "cut"},
		{"retry", "retry", wholeAfter(time.Hour, new(atomic.Int32)), 200, `{"late":true}`},
		{"mark", "mark", wholeAfter(400*time.Millisecond, new(atomic.Int32)), 200, `{"late":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			g := start(t, silent+c.say+"\n", scripted(t, c.first), scripted(t, wholeAfter(0, &asked)))
			resp := post(t, g.url+"/v1/chat/completions", askWhole)
			b, err := io.ReadAll(resp.Body)
			got := string(b)
			if err != nil {
				got = "cut"
			}
			if resp.StatusCode != c.status || !strings.Contains(got, c.text) || asked.Load() != map[bool]int32{true: 1}[c.say == "retry"] {
				t.Errorf("%d %q, %v; the other was asked %d times", resp.StatusCode, got, err, asked.Load())
			}
			until(t, "its end", func() bool { return len(g.all()) == 1 })
			if e := g.all()[0]; c.text == "cut" && e.Reason != "silence" {
				t.Errorf("ended %q", e.Reason)
			}
			if tiers := g.tiers(); c.say == "mark" && len(tiers) > 0 {
				t.Errorf("tiers %q of an answer that nobody expected sooner", tiers)
			}
		})
	}
}

// A service that waits for a slow client is not silent.
func TestSlowReaderIsNoSilence(t *testing.T) {
	t.Parallel()
	const size = 24 << 20
	event := chat(strings.Repeat("x", 64<<10))
	for body, up := range map[string]http.HandlerFunc{
		askWhole: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) },
		ask1:     sse(strings.Repeat(event, size/len(event)), chatDone),
	} {
		g := start(t, silent+"end\n    slow_client: {policy: block}\n", scripted(t, up), "http://127.0.0.1:1")
		resp := post(t, g.url+"/v1/chat/completions", body)
		time.Sleep(400 * time.Millisecond)
		if n, err := io.Copy(io.Discard, resp.Body); n < size-int64(len(event)) || err != nil {
			t.Errorf("%s: %d bytes, %v", body, n, err)
		}
	}
}

// A stream that came unasked has the clocks of a stream.
func TestClocksOfAStreamThatCameUnasked(t *testing.T) {
	t.Parallel()
	g := start(t, silent+"end\n", scripted(t, sse(chat("a"), "wait")), "http://127.0.0.1:1")
	got := text(t, post(t, g.url+"/v1/chat/completions", askWhole))
	if !strings.HasPrefix(got, chat("a")) || strings.Count(got, `"reason":"silence"`) != 1 {
		t.Errorf("got %q", got)
	}
	if tiers := g.tiers(); !slices.Equal(tiers, []string{"log", "act"}) {
		t.Errorf("tiers %q", tiers)
	}
}
