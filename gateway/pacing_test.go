package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/relay"
)

const paced = `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, heartbeat: 20ms, pacing: {enabled: true, max_delay: 150ms}}]
`

// lump is text of 40 grapheme clusters that is easily cut wrong.
const lump = "क्षि👩‍👩‍👧‍👦 e\u0301 漢字 and some more words to fill it up"

// lumps is a service that says one each 120 ms, as its last act what is given.
func lumps(n int, last ...string) http.HandlerFunc {
	pieces := []string{chatRole}
	for i := range n {
		if i > 0 {
			pieces = append(pieces, "120ms")
		}
		pieces = append(pieces, chat(lump))
	}
	return sse(append(pieces, last...)...)
}

// said is the text of a chat stream, and how many events had some.
func said(t *testing.T, body string) (text string, events int) {
	t.Helper()
	for _, line := range strings.Split(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		var v struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if !ok || json.Unmarshal([]byte(data), &v) != nil || len(v.Choices) == 0 || v.Choices[0].Delta.Content == "" {
			continue
		}
		text += v.Choices[0].Delta.Content
		events++
	}
	return text, events
}

// Text is cut and spread; the rest is as it was, and the record says what was done.
func TestPacingCuts(t *testing.T) {
	const n = 6
	g := start(t, paced, scripted(t, lumps(n, chatFinish, chatDone)))
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	words, events := said(t, got)
	if words != strings.Repeat(lump, n) || events <= n {
		t.Errorf("%d events: %q", events, words)
	}
	if !strings.HasPrefix(got, chatRole) || !strings.HasSuffix(strings.ReplaceAll(got, ": hb\n", ""), chatFinish+chatDone) {
		t.Errorf("got %q", got)
	}
	until(t, "it ended", func() bool { return len(g.all()) == 1 })
	e := g.all()[0]
	x := e.Records[0].Facts.Extra
	if e.Delivered.Events != n || e.Terminal != "done" || x["pacing_events"] != fmt.Sprint(n) || x["pacing_pieces"] != fmt.Sprint(events) ||
		x["pacing_delay_max_ms"] == "" || x["pacing_gap_stddev_after_ms"] == "" {
		t.Errorf("%d delivered, ended %q, %v", e.Delivered.Events, e.Terminal, x)
	}
}

// Whatever ends a stream takes what waits along, before it.
func TestPacingLosesNothingAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		last []string
		want string
	}{
		"done":     {[]string{chatFinish, chatDone}, "[DONE]"},
		"cut off":  {nil, "upstream_truncated"},
		"reset":    {[]string{"reset"}, "upstream_reset"},
		"error":    {[]string{"data: {\"error\":{\"message\":\"no\",\"code\":500}}\n\n"}, `"message":"no"`},
		"tool":     {[]string{`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\n", chatFinish, chatDone}, "tool_calls"},
		"untagged": {[]string{chatFinish}, "[DONE]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, paced, scripted(t, lumps(4, c.last...)))
			got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
			words, _ := said(t, got)
			if words != strings.Repeat(lump, 4) || strings.LastIndex(got, c.want) < strings.LastIndex(got, `"content":"`) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Streams that others may resume are spaced and never cut: their events are
// what ids and counts mean. The log has them as they came.
func TestPacingLeavesResumableEventsWhole(t *testing.T) {
	const n = 5
	log := relay.NewMemory(relay.MemoryOptions{})
	t.Cleanup(func() { _ = log.Close() })
	g := startPaced(t, log, scripted(t, lumps(n, chatFinish, chatDone)))
	r := post(t, g.url+"/v1/chat/completions", ask1, "Weir-Resume", "1")
	got := text(t, r)
	if words, events := said(t, got); words != strings.Repeat(lump, n) || events != n || strings.Count(got, "id: ") != n+3 {
		t.Errorf("%d events: %q", events, got)
	}
	var kept strings.Builder
	for e, err := range log.After(t.Context(), r.Header.Get("Weir-Stream"), relay.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		kept.Write(e.Frame)
	}
	if kept.String() != chatRole+strings.Repeat(chat(lump), n)+chatFinish+chatDone {
		t.Errorf("kept %q", kept.String())
	}
}

func startPaced(t *testing.T, log relay.Log, url string) *rig {
	t.Helper()
	g := start(t, paced, url)
	g.g.o.Log = log
	return g
}

// A client that reads slowly gets all of it, and no pacing on top.
func TestPacingUnderBacklog(t *testing.T) {
	const n = 400
	event := chat(strings.Repeat("y", 4<<10))
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range n {
			if i%100 == 0 {
				time.Sleep(60 * time.Millisecond)
			}
			_, _ = io.WriteString(w, event)
		}
		_, _ = io.WriteString(w, chatFinish+chatDone)
	})
	g := start(t, `
upstreams: {main: {urls: ["%s"]}}
routes:
  - {path: "/v1/*", upstream: main, pacing: {enabled: true}, slow_client: {policy: block, bytes: 16KiB, write_timeout: 30s}}
`, up)
	c := deaf(t, g.url)
	time.Sleep(300 * time.Millisecond)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if words, _ := said(t, text(t, resp)); words != strings.Repeat("y", n*4<<10) {
		t.Errorf("%d bytes of text", len(words))
	}
	until(t, "it ended", func() bool { return len(g.all()) == 1 })
	x := g.all()[0].Records[0].Facts.Extra
	if n, err := strconv.Atoi(x["pacing_bypassed"]); err != nil || n < 1 {
		t.Errorf("%v, %v", err, x)
	}
}

// A client that leaves while text waits cancels its upstream, and the text is
// dropped without a trace.
func TestPacingOfAClientThatLeft(t *testing.T) {
	url, asked, gone := upstreamThatTells(t, lumps(4, "wait"))
	g := start(t, paced, url)
	ctx, leave := context.WithCancel(t.Context())
	resp, err := tryPost(ctx, g.url+"/v1/chat/completions", ask1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	within(t, "asked", asked)
	_, _ = io.CopyN(io.Discard, resp.Body, int64(3*len(chat(lump))))
	leave()
	within(t, "cancelled", gone)
	until(t, "the place is free", func() bool { return g.g.gate.count() == 0 })
}

// Many paced streams at once, some stopped by their owner: nothing is shared
// between them, and each has its one end.
func TestPacingOfManyStreams(t *testing.T) {
	g := start(t, paced, scripted(t, lumps(4, chatFinish, chatDone)))
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			resp, err := tryPost(t.Context(), g.url+"/v1/chat/completions", ask1)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if i%4 == 0 {
				time.Sleep(200 * time.Millisecond) // when some of it waits
				stop, err := tryPost(t.Context(), g.url+"/weir/streams/"+resp.Header.Get("Weir-Stream")+"/stop", "")
				if err == nil {
					_ = stop.Body.Close()
				}
			}
			b, err := io.ReadAll(resp.Body)
			words, _ := said(t, string(b))
			ends := strings.Count(string(b), chatFinish+chatDone) + strings.Count(string(b), `"reason":"stopped"`)
			if err != nil || ends != 1 || !strings.HasPrefix(strings.Repeat(lump, 4), words) || i%4 > 0 && words != strings.Repeat(lump, 4) {
				t.Errorf("stream %d: %v, %d ends, %q", i, err, ends, words)
			}
		})
	}
	all.Wait()
}

// Every configuration of the guide is good.
func TestPacingGuideLoads(t *testing.T) {
	guide, err := os.ReadFile("../docs/pacing.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(guide), "```yaml config\n")[1:]
	for _, part := range parts {
		text, _, _ := strings.Cut(part, "```")
		if _, err := Load("docs/pacing.md", []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if len(parts) != 2 {
		t.Errorf("%d configurations found", len(parts))
	}
}

func TestPacingIsConfigured(t *testing.T) {
	r := DefaultRoute()
	if r.Pacing.Enabled || r.Pacing.MaxDelay != 150*time.Millisecond {
		t.Errorf("%+v", r.Pacing)
	}
	for text, want := range map[string]string{
		"routes: [{path: /x, upstream: m, pacing: {enabled: true, max_delay: 3s}}]":                             "max_delay is 3s",
		"routes: [{path: /x, upstream: m, pacing: {delay: 1s}}]":                                                "delay",
		"routes: [{path: /x, upstream: m}]\nlimits: {output_per_key: {tokens_per_second: -1}}":                  "tokens_per_second",
		"routes: [{path: /x, upstream: m}]\nlimits: {output_per_key: {burst: 5}}":                               "burst without",
		"routes: [{path: /x, upstream: m}]\nlimits: {output_per_key: {tokens_per_second: 2, burst: -5}}":        "burst is -5",
		"routes: [{path: /x, upstream: m}]\nlimits: {output_per_key: {tokens_per_second: .inf, burst: 100000}}": "tokens_per_second",
	} {
		_, err := Load("g.yaml", []byte("upstreams: {m: {urls: [\"http://127.0.0.1:1\"]}}\n"+text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "g.yaml:") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
