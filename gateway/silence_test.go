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

const silent = `
upstreams: {main: {urls: ["%s", "%s"]}}
routes:
  - path: "/*"
    upstream: main
    retry: {backoff: 1ms}
    silence: {log: 50ms, act: 100ms, tell: 150ms}
    on_silence: `

func (k *kept) tiers() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.silent)
}

// Comments break no silence, and silence alone ends nothing.
func TestSilenceIsMarked(t *testing.T) {
	whole := chat("a") + ": hb\n\n" + chat("b") + chatFinish + chatDone
	g := start(t, silent+"mark\n", scripted(t, sse(chat("a"), "60ms", ": hb\n\n", "140ms", chat("b")+chatFinish+chatDone)), "http://127.0.0.1:1")
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if strings.ReplaceAll(got, ": hb\n", "") != strings.ReplaceAll(whole, ": hb\n", "") {
		t.Errorf("got %q", got)
	}
	if got := g.tiers(); !slices.Equal(got, []string{"log", "act", "tell"}) {
		t.Errorf("tiers %q", got)
	}
	if notes := g.all()[0].Records[0].Notes; len(notes) != 1 || !strings.HasPrefix(notes[0], "silent for 1") {
		t.Errorf("notes %q", notes)
	}
}

// Progress begins the silence anew.
func TestProgressResetsTheTiers(t *testing.T) {
	t.Parallel()
	rare := strings.NewReplacer("log: 50ms", "log: 200ms", "act: 100ms", "act: 2s", "tell: 150ms", "tell: 3s").Replace(silent)
	g := start(t, rare+"mark\n", scripted(t, sse(chat("a"), "600ms", chat("b"), "600ms", chat("c"), chatFinish+chatDone)), "http://127.0.0.1:1")
	_ = text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if got := g.tiers(); !slices.Equal(got, []string{"log", "log"}) {
		t.Errorf("tiers %q", got)
	}
}

func TestSilenceEndsTheStreamWhereTheRouteSaysSo(t *testing.T) {
	for name, up := range map[string]http.HandlerFunc{
		"after output":   sse(chat("a"), "wait"),
		"before output":  sse(chatRole, "wait"),
		"before headers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"behind comments": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				sse(": hb\n\n", "10ms")(w, r)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, silent+"end\n", scripted(t, up), scripted(t, sse(chat("never")+chatDone)))
			resp := post(t, g.url+"/v1/chat/completions", ask1)
			got := text(t, resp)
			if strings.Count(got, `"reason":"silence"`) != 1 || strings.Contains(got, "never") {
				t.Errorf("got %q", got)
			}
			if want := map[bool]int{true: 200, false: 504}[name == "after output"]; resp.StatusCode != want {
				t.Errorf("status %d, want %d", resp.StatusCode, want)
			}
		})
	}
}

func TestSilenceRetriesWhereTheRouteSaysSo(t *testing.T) {
	g := start(t, silent+"retry\n", scripted(t, sse(chatRole, "wait")), scripted(t, sse(chat("b")+chatFinish+chatDone)))
	if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); got != chat("b")+chatFinish+chatDone {
		t.Errorf("got %q", got)
	}
	// After the first output it does nothing.
	g = start(t, silent+"retry\n", scripted(t, sse(chat("a"), "200ms", chatFinish+chatDone)), "http://127.0.0.1:1")
	if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); strings.ReplaceAll(got, ": hb\n", "") != chat("a")+chatFinish+chatDone {
		t.Errorf("got %q", got)
	}
}

// Alive, but below the floor.
func TestFloor(t *testing.T) {
	up := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			sse(chat("a"), "300ms")(w, r)
		}
	}
	g := start(t, `
upstreams: {main: {urls: ["%s"]}}
routes:
  - path: "/*"
    upstream: main
    floor: {tokens_per_second: 20, window: 1s}
    on_silence: end
`, scripted(t, up))
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if n := strings.Count(got, `"content":"a"`); n < 2 || strings.Count(got, `"reason":"too_slow"`) != 1 {
		t.Errorf("after %d events: %.300q", n, got[max(0, len(got)-300):])
	}
	if !slices.Contains(g.tiers(), "slow") {
		t.Errorf("tiers %q", g.tiers())
	}
}

const beating = `
upstreams: {main: {urls: ["%s"]}}
routes:
  - {path: "/*", upstream: main, heartbeat: 20ms, open: {mode: early}}
`

// Heartbeats have the form that the dialect's SDKs take, and stand only
// between events.
func TestHeartbeatForms(t *testing.T) {
	m := startMock(t, "ttft=100ms,gap=1ms,n=6,stall_after=3,stall=100ms,cut=utf8,lang=zh")
	g := start(t, beating, m.URL())
	forms := map[string]string{
		"openai.chat": ": hb\n", "openai.responses": ": hb\n", "anthropic": "event: ping\ndata: {\"type\":\"ping\"}\n\n",
		"gemini": ": hb\n\n", "gemini array": "", "dify": "event: ping\n\n", "ollama": "", "article": ": hb\n\n",
	}
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			direct := text(t, post(t, m.URL()+d.path, d.body, "X-Request-Id", "request-1"))
			got := text(t, post(t, g.url+d.path, d.body, "X-Request-Id", "request-1"))
			beat := forms[d.name]
			if beat == "" {
				if unstamped(got) != unstamped(direct) {
					t.Errorf("got %q", got)
				}
				return
			}
			if n := strings.Count(got, beat); n < 4 {
				t.Errorf("%d heartbeats in %q", n, got)
			}
			if rest := strings.ReplaceAll(got, beat, ""); unstamped(rest) != unstamped(strings.ReplaceAll(direct, beat, "")) {
				t.Errorf("direct %q\nwithout heartbeats %q", direct, rest)
			}
			for _, line := range strings.Split(got, "\n") {
				if d.name == "gemini" && (strings.HasPrefix(line, "id:") || strings.HasPrefix(line, "event:") || strings.HasPrefix(line, "retry:")) {
					t.Errorf("gemini: %q", line)
				}
			}
		})
	}
}

// An event that is cut in two has no heartbeat in it, however long the rest
// takes (bifrost #5905).
func TestNoHeartbeatInsideAnEvent(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		event := strings.TrimSuffix(chat("whole"), "\n\n")
		g := start(t, beating, scripted(t, sse(event[:40], "80ms", event[40:]+end[:1], "80ms", end[1:], "80ms", chatDone)))
		got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
		if !strings.Contains(got, event+end) || !strings.Contains(got, ": hb\n") {
			t.Errorf("end %q: got %q", end, got)
		}
		if end != "\r\r" && !strings.HasSuffix(strings.ReplaceAll(got, ": hb\n", ""), event+end+chatDone) {
			t.Errorf("end %q: got %q", end, got)
		}
	}
}

// The hold ends: status and heartbeats go out before any output, and what
// fails later is told in the stream.
func TestHoldEnds(t *testing.T) {
	held := `
upstreams: {main: {urls: ["%s"]}}
routes:
  - {path: "/*", upstream: main, heartbeat: 20ms, retry: {attempts: 1}, open: {mode: hold, hold: 50ms}}
`
	g := start(t, held, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(150 * time.Millisecond)
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"message":"slow down"}}`)
	}))
	resp := post(t, g.url+"/v1/chat/completions", ask1)
	got := text(t, resp)
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(got, ": hb\n") || !strings.Contains(got, `"reason":"http_429"`) {
		t.Errorf("%d %q", resp.StatusCode, got)
	}
	g = start(t, held, scripted(t, sse(chatRole, "100ms", chat("a")+chatFinish+chatDone)))
	got = text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if strings.ReplaceAll(got, ": hb\n", "") != chatRole+chat("a")+chatFinish+chatDone {
		t.Errorf("got %q", got)
	}
}

// Which openings committed a status before the first output is counted, once
// for each stream.
func TestOpeningsAreCounted(t *testing.T) {
	for by, route := range map[string]string{
		"output": "open: {hold: 30s}",
		"hold":   "open: {hold: 20ms}",
		"early":  "open: {mode: early}",
	} {
		up := scripted(t, sse(chatRole, "200ms", chat("a")+chatFinish+chatDone))
		g := start(t, "upstreams: {main: {urls: [\"%s\"]}}\nroutes: [{path: \"/*\", upstream: main, "+route+"}]\n", up)
		_ = text(t, post(t, g.url+"/v1/chat/completions", ask1))
		g.mu.Lock()
		if len(g.opened) != 1 || g.opened[0] != by {
			t.Errorf("%s: told %q", by, g.opened)
		}
		g.mu.Unlock()
	}
}

// Until a frame left, a retry is still possible after the hold ended.
func TestRetryBehindHeartbeats(t *testing.T) {
	g := start(t, `
upstreams: {main: {urls: ["%s", "%s"]}}
routes:
  - {path: "/*", upstream: main, heartbeat: 20ms, retry: {backoff: 1ms, first_output: 150ms}, open: {hold: 50ms}}
`, scripted(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), scripted(t, sse(chat("b")+chatFinish+chatDone)))
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if !strings.HasPrefix(got, ": hb\n") || !strings.HasSuffix(got, chat("b")+chatFinish+chatDone) {
		t.Errorf("got %q", got)
	}
}

// Once a frame went out no attempt can be made again: it is the last, and is
// not cut for its slowness, whether its frames left by the queue or past it.
func TestAttemptThatCannotBeMadeAgainIsNotCut(t *testing.T) {
	for name, before := range map[string][]string{
		"held, then sent": {": processing\n\n", "400ms"},
		"past the queue":  {"", "200ms", chatRole, "200ms", ": processing\n\n", "200ms"},
	} {
		for _, silence := range []string{"", ", silence: {log: 100ms, act: 300ms, tell: 1s}, on_silence: retry"} {
			t.Run(name+silence, func(t *testing.T) {
				var asked atomic.Int32
				up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					sse(append(append([]string{}, before...), "500ms", chat("late"), chatFinish, chatDone)...)(w, r)
				})
				g := start(t, `
upstreams: {main: {urls: ["%s", "%s"]}}
routes: [{path: "/*", upstream: main, open: {hold: 100ms}, retry: {attempts: 2, backoff: 1ms, first_output: 600ms}`+silence+`}]
`, up, up)
				got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
				if !strings.HasSuffix(got, chat("late")+chatFinish+chatDone) || asked.Load() != 1 {
					t.Errorf("asked %d times: %q", asked.Load(), got)
				}
			})
		}
	}
}
