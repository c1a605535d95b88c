package gateway

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/relay"
	"weir/ws"
)

// Every answer to a client is counted once, under a pattern and never a path.
func TestOwnPathsAreCounted(t *testing.T) {
	up := scripted(t, sse(chat("a"), chatFinish, chatDone))
	g := startLog(t, relay.MemoryOptions{}, resuming, up)
	r := post(t, g.url+"/v1/chat/completions", ask1, "X-Request-Id", "request-42")
	_ = text(t, r)
	stream := r.Header.Get("Weir-Stream")
	for _, path := range []string{
		"/weir/streams/" + stream, "/weir/streams/" + stream + "?after=x", "/weir/streams/none", "/weir/records/none",
		"/v1/responses/none?stream=true", "/weir/ws",
	} {
		_ = text(t, get(t, g.url+path))
	}
	_ = text(t, post(t, g.url+"/weir/streams/none/stop", ""))
	until(t, "the record is there", func() bool { return len(g.all()) > 0 })
	_ = text(t, get(t, g.url+"/weir/records/request-42"))
	p, _ := connect(t, g.url)
	p.say(`{"type":"resume","id":"r","stream":"` + stream + `"}`)
	if got := p.whole("r"); got.end.Outcome != "done" || len(got.events) != 3 {
		t.Errorf("%+v, %d events", got.end, len(got.events))
	}
	p.say(`{"type":"resume","id":"r","stream":"` + strings.Repeat("0", 32) + `"}`)
	if got := p.whole("r"); got.end.Code != ws.Unresumable {
		t.Errorf("%+v", got.end)
	}
	want := []string{
		"POST /* 200", "GET /* 200", // the second of the two is the service's own /v1/responses
		"GET /weir/streams/{id} 200", "GET /weir/streams/{id} 400", "GET /weir/streams/{id} 404", "GET /weir/records/{id} 404",
		"GET /weir/ws 426", "POST /weir/streams/{id}/stop 404", "GET /weir/records/{id} 200", "GET /weir/ws 101",
		"GET /weir/streams/{id} 200", "GET /weir/streams/{id} 404",
	}
	slices.Sort(want)
	counted := func() []string {
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.Sorted(slices.Values(g.answered))
	}
	until(t, "all are counted", func() bool { return len(counted()) >= len(want) })
	time.Sleep(20 * time.Millisecond) // what is counted twice could come late
	if got := counted(); !slices.Equal(got, want) {
		t.Errorf("counted\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A writer whose status is seen still flushes, has deadlines, and is hijacked.
func TestWatchedWriterIsWhole(t *testing.T) {
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out := &watched{ResponseWriter: w}
		rc := http.NewResponseController(out)
		if rc.SetWriteDeadline(time.Now().Add(time.Minute)) != nil || rc.Flush() != nil {
			t.Error("it has no deadline, or cannot flush")
		}
		if _, err := out.Write([]byte("x")); err != nil || out.status != http.StatusOK {
			t.Errorf("%d, %v", out.status, err)
		}
		if conn, _, err := rc.Hijack(); err != nil {
			t.Error(err)
		} else {
			_ = conn.Close()
		}
	}), func() {})
	if resp, err := http.Get(url); err == nil {
		_ = resp.Body.Close()
	}
}
