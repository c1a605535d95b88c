package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/relay"
	"weir/stream"
)

// A service that compresses though identity was asked for is refused with the
// reason: its bytes would reach the client without the header that says what
// they are, whole or cut (envoyproxy/ai-gateway#1927).
func TestAServiceThatCompressesUnasked(t *testing.T) {
	up := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, chatRole+chat("a")+chatFinish+chatDone)
		_ = z.Close()
	})
	g := start(t, small, up)
	for _, path := range []string{"/v1/chat/completions", "/our/own/stream"} {
		resp := post(t, g.url+path, ask1, "Accept-Encoding", "gzip")
		if got := text(t, resp); resp.StatusCode != http.StatusBadGateway || !strings.Contains(got, "upstream_encoded") {
			t.Errorf("%s: status %d, encoding %q: %.300q", path, resp.StatusCode, resp.Header.Get("Content-Encoding"), got)
		}
	}
}

// One line of several megabytes, as an image in base64 is, passes whole
// (nextlevelbuilder/goclaw#1349, openai/openai-go#368).
func TestALineOfMegabytes(t *testing.T) {
	big := chat(strings.Repeat("iVBORw0KGgo=", 400_000))
	up := scripted(t, sse(chat("a"), big, chat("z"), chatFinish, chatDone))
	g := start(t, small, up)
	got := text(t, post(t, g.url+"/v1/chat/completions", ask1))
	if want := chat("a") + big + chat("z") + chatFinish + chatDone; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

// Legal lines that parsers slipped on: a field without a colon, CR alone, CR LF
// cut in two, no space, a comment in the middle of an event, a BOM at the
// beginning (envoyproxy/ai-gateway#2155, higress-group/higress#4616).
func TestOddButLegalLines(t *testing.T) {
	piece := strings.TrimPrefix(strings.TrimSuffix(chat("x"), "\n\n"), "data: ")
	for name, parts := range map[string][]string{
		"no colon":         {"data\n\n" + chat("x")},
		"cr":               {"data: " + piece + "\r\r"},
		"crlf in two":      {"data: " + piece + "\r", "10ms", "\n\r", "10ms", "\n"},
		"no space":         {"data:" + piece + "\n\n"},
		"comment inside":   {": one\ndata: " + piece + "\n: two\n\n"},
		"unknown field":    {"foo: bar\ndata: " + piece + "\n\n"},
		"bom":              {"\xef\xbb\xbf" + chat("x")},
		"in little pieces": little(chat("x")),
	} {
		t.Run(name, func(t *testing.T) {
			up := scripted(t, sse(append(parts, chatFinish, chatDone)...))
			g := start(t, small, up)
			got, want := text(t, post(t, g.url+"/v1/chat/completions", ask1)), chatFinish+chatDone
			for i := len(parts) - 1; i >= 0; i-- {
				if parts[i] != "10ms" {
					want = parts[i] + want
				}
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
			until(t, "the record", func() bool { return len(g.all()) == 1 })
			if r := g.all()[0].Records[0]; r.Outcome != stream.Complete {
				t.Errorf("%s %s", r.Outcome, r.Reason)
			}
		})
	}
}

// little cuts s into pieces of two bytes.
func little(s string) (parts []string) {
	for ; len(s) > 2; s = s[2:] {
		parts = append(parts, s[:2])
	}
	return append(parts, s)
}

// Usage after the finish reason, with empty choices, arrives and is counted
// (BerriAI/litellm#36553, Portkey-AI/gateway#1627).
func TestUsageWithEmptyChoices(t *testing.T) {
	usage := `data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}` + "\n\n"
	g := start(t, small, scripted(t, sse(chat("a"), chatFinish, usage, chatDone)))
	if got := text(t, post(t, g.url+"/v1/chat/completions", ask1)); got != chat("a")+chatFinish+usage+chatDone {
		t.Errorf("%q", got)
	}
	until(t, "the record", func() bool { return len(g.all()) == 1 })
	r := g.all()[0].Records[0]
	if n, ok := r.Usage.Output.Get(); !ok || n != 2 {
		t.Errorf("usage %+v", r.Usage)
	}
}

// A client that leaves is not a stream of nothing: what was generated and what
// was delivered are in its record (QuantumNous/new-api#7062).
func TestWhatALeavingClientGotIsCounted(t *testing.T) {
	url, _, gone := upstreamThatTells(t, sse(chat("a"), chat("b")))
	g := start(t, small, url)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := tryPost(ctx, g.url+"/v1/chat/completions", ask1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, len(chat("a")+chat("b")))); err != nil {
		t.Fatal(err)
	}
	leave()
	_ = resp.Body.Close()
	within(t, "the upstream is cancelled", gone)
	until(t, "the record", func() bool { return len(g.all()) == 1 })
	if e := g.all()[0]; e.Generated.Events != 2 || e.Delivered.Events != 2 {
		t.Errorf("generated %+v, delivered %+v, want 2 events each", e.Generated, e.Delivered)
	}
}

// A follower of a stream that is over and forgotten gets 404; nobody is asked
// for a second generation (getomnico/omni#327).
func TestAFollowerNeverBeginsAGeneration(t *testing.T) {
	var asked atomic.Int64
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		sse(chat("a"), chatFinish, chatDone)(w, r)
	})
	g := startLog(t, relay.MemoryOptions{TTL: 10 * time.Millisecond}, resuming, up)
	owner := post(t, g.url+"/v1/chat/completions", ask1)
	_ = text(t, owner)
	at := g.url + "/weir/streams/" + owner.Header.Get("Weir-Stream")
	until(t, "the stream is forgotten", func() bool {
		r := get(t, at)
		_ = r.Body.Close()
		return r.StatusCode == http.StatusNotFound
	})
	for _, query := range []string{"", "?after=0", "?after=1", "?after=99"} {
		if r := get(t, at+query); r.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %d", query, r.StatusCode)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the service was asked %d times", n)
	}
}

// The cost of a stream grows with its length, not with its square
// (BerriAI/litellm#22346: each chunk joined to all before it). Bytes allocated
// are counted, because times are not to be relied upon.
func TestCostIsLinear(t *testing.T) {
	if raceOn {
		t.Skip("the race detector allocates for itself")
	}
	cost := func(n int) float64 {
		events := bytes.Repeat([]byte(chat("word ")), n)
		up := scripted(t, sse(string(events), chatFinish, chatDone))
		g := start(t, small, up)
		url := g.url + "/v1/chat/completions"
		_ = text(t, post(t, url, ask1))
		return allocated(func() { _ = text(t, post(t, url, ask1)) })
	}
	short, long := cost(2000), cost(16000)
	if ratio := long / short; ratio > 16 {
		t.Errorf("eight times the events take %.1f times the memory (%.0f and %.0f bytes)", ratio, short, long)
	}
}

// allocated is how many bytes the process allocated while f ran.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}
