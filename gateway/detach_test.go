package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/relay"
	"weir/ws"
)

const detachEvents = 1000 // of 8 KiB: more than the queue and the sockets' buffers hold

// flooded is a service whose every event says its number, and keeps all of
// them for its clients; slow is the route's slow_client.
func flooded(t *testing.T, slow string) *rig {
	t.Helper()
	pad := strings.Repeat("x", 8<<10)
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range detachEvents {
			if _, err := io.WriteString(w, chat(fmt.Sprint(i, " ", pad))); err != nil {
				return
			}
			if i < 50 { // what the client does get
				_ = http.NewResponseController(w).Flush()
				time.Sleep(2 * time.Millisecond)
			}
		}
		_, _ = io.WriteString(w, chatFinish+chatDone)
	})
	return startLog(t, relay.MemoryOptions{Bytes: 64 << 20}, `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, resume: {enabled: true, grace: 30s}, slow_client: {`+slow+`}}]
ws: {write_timeout: 30s, ping: 30s}
`, up)
}

// wholeEvents cuts off a last event that did not come whole.
func wholeEvents(body string) string {
	end := strings.LastIndex(body, "\n\n")
	if end < 0 {
		return ""
	}
	return body[:end+2]
}

// A client that stops reading is let go, by the default policy, and its stream
// is not: the upstream is read to its end, and who comes back gets the rest.
func TestSlowClientIsDetached(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ slow, terminal, reason string }{
		{"bytes: 256KiB, write_timeout: 1s", "done", ""},
		{"policy: drop, bytes: 256KiB, write_timeout: 1s", "error", "slow_client"},
	} {
		t.Run(c.slow, func(t *testing.T) {
			t.Parallel()
			g := flooded(t, c.slow)
			r := bufio.NewReader(deaf(t, g.url))
			resp, err := http.ReadResponse(r, nil) // its head, and no more
			if err != nil || resp.Header.Get("Weir-Resumable") != "true" {
				t.Fatalf("%v %v", resp, err)
			}
			until(t, "the stream ended without its client", func() bool { return len(g.all()) == 1 })
			e := g.all()[0]
			noted := slices.ContainsFunc(e.Records[0].Notes, func(n string) bool { return strings.Contains(n, "the client did not read") })
			if e.Terminal != c.terminal || e.Reason != c.reason || !noted {
				t.Fatalf("it ended %q, %q: %q", e.Terminal, e.Reason, e.Records[0].Notes)
			}
			first, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			before := wholeEvents(string(first))
			n := strings.Count(before, "\n\n")
			if err == nil || n == 0 || n >= detachEvents {
				t.Fatalf("the client was not let go: it got %d events, %v", n, err)
			}
			rest := get(t, g.url+"/weir/streams/"+resp.Header.Get("Weir-Stream")+"?after="+strconv.Itoa(n))
			numbersFollow(t, blocks(before+text(t, rest)), c.terminal == "done")
		})
	}
}

// numbersFollow holds events against what the service said: each once, in
// order, to the end, or to the error that ended it.
func numbersFollow(t *testing.T, all []string, whole bool) {
	t.Helper()
	for i, b := range all {
		switch {
		case i < detachEvents && strings.Contains(b, fmt.Sprintf(`"content":"%d `, i)):
		case whole && i >= detachEvents && i < detachEvents+2:
		case !whole && i == len(all)-1 && strings.Contains(b, `"reason":"slow_client"`):
		default:
			t.Fatalf("event %d is %.200q", i, b)
		}
	}
	if whole && (len(all) != detachEvents+2 || all[len(all)-1] != chatDone) {
		t.Errorf("%d events", len(all))
	}
}

// On a socket its stream ends, and the socket lives: it resumes on the same.
func TestSocketSlowClientIsDetached(t *testing.T) {
	t.Parallel()
	g := flooded(t, "bytes: 256KiB")
	p, _ := connect(t, g.url)
	p.say(startA)
	open := next[*ws.Open](p)
	until(t, "the service is read to its end though its client reads nothing", func() bool {
		kept, err := g.g.o.Log.Stat(t.Context(), open.Stream)
		return err == nil && kept.Ended
	})
	first := p.whole("a")
	if first.end.Outcome != "broken" || first.end.Code != ws.Slow || len(first.events) == 0 || len(first.events) >= detachEvents {
		t.Fatalf("%d events, %+v", len(first.events), first.end)
	}
	last := first.events[len(first.events)-1].Seq
	p.say(fmt.Sprintf(`{"type":"resume","id":"r","stream":%q,"after":%d}`, open.Stream, last))
	second := p.whole("r")
	var all []string
	for _, e := range append(first.events, second.events...) {
		all = append(all, "data: "+*e.Data+"\n\n")
	}
	if second.end.Outcome != "done" {
		t.Errorf("%+v", second.end)
	}
	numbersFollow(t, all, true)
}
