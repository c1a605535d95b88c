package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/relay"
)

// deaf opens a stream and never reads it.
func deaf(t *testing.T, url string) net.Conn {
	t.Helper()
	return deafAt(t, url, "/v1/chat/completions")
}

func deafAt(t *testing.T, url, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(ask1), ask1)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// heap watches how much the process's memory has grown, until the test's end.
type heap struct {
	t     *testing.T
	first uint64
	most  uint64
}

func watchHeap(t *testing.T) *heap {
	runtime.GC()
	h := &heap{t: t}
	h.first = h.inUse()
	return h
}

func (h *heap) inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// until looks at it while something is awaited. What grows without bound is
// not let to.
func (h *heap) until(what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		h.most = max(h.most, h.inUse())
		if grown := int64(h.most) - int64(h.first); grown > 128<<20 {
			h.t.Fatalf("the heap grew by %d MiB until: %s", grown>>20, what)
		}
		if time.Now().After(end) {
			h.t.Fatalf("never: %s", what)
		}
	}
}

// floodOf writes an event again and again, as long as it is read.
func floodOf(event string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
		}
	}
}

// A client that never reads costs a bounded memory all the time that it is
// there, whatever its route's policy, and whether or not its stream is kept.
func TestClientThatNeverReads(t *testing.T) {
	url, _, gone := upstreamThatTells(t, floodOf(chat(strings.Repeat("x", 32<<10))))
	g := startLog(t, relay.MemoryOptions{Bytes: 256 << 10}, `
upstreams: {main: {urls: ["%s"]}}
routes:
  - {path: "/drop/*", upstream: main, slow_client: {policy: drop, bytes: 128KiB, write_timeout: 1s}}
  - {path: "/block/*", upstream: main, slow_client: {policy: block, bytes: 128KiB, write_timeout: 1s}}
  - {path: "/kept/drop/*", upstream: main, resume: {enabled: true, grace: 300ms}, slow_client: {policy: drop, bytes: 128KiB, write_timeout: 1s}}
  - {path: "/kept/block/*", upstream: main, resume: {enabled: true, grace: 300ms}, slow_client: {policy: block, bytes: 128KiB, write_timeout: 1s}}
  - {path: "/kept/*", upstream: main, resume: {enabled: true, grace: 300ms}, slow_client: {bytes: 128KiB, write_timeout: 1s}}
`, url)
	h := watchHeap(t)
	paths := []string{"/drop", "/block", "/kept/drop", "/kept/block", "/kept/detach"}
	for _, path := range paths {
		for range 2 {
			deafAt(t, g.url, path+"/v1/chat/completions")
		}
	}
	h.until("the upstreams of deaf clients are idle", func() bool { return len(gone) == 2*len(paths) })
	h.until("the places are free", func() bool { return g.g.gate.count() == 0 })
	t.Logf("the heap grew by %d MiB", (int64(h.most)-int64(h.first))>>20)
	for _, e := range g.all() {
		if e.Reason != "slow_client" && !(e.Reason == "abandoned" && strings.HasPrefix(e.Route, "/kept/")) {
			t.Errorf("%s: reason %q", e.Route, e.Reason)
		}
	}
}

// Blocking is a policy too: nothing is lost, the upstream waits.
func TestSlowClientThatBlocks(t *testing.T) {
	const n = 5000
	event := chat(strings.Repeat("y", 4<<10))
	for _, kept := range []string{"", ", resume: {enabled: true}"} {
		t.Run("route"+kept, func(t *testing.T) {
			var written atomic.Int32
			up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for range n {
					_, _ = io.WriteString(w, event)
					written.Add(1)
				}
				_, _ = io.WriteString(w, chatFinish+chatDone)
			})
			g := startLog(t, relay.MemoryOptions{}, `
upstreams: {main: {urls: ["%s"]}}
routes:
  - {path: "/v1/*", upstream: main, slow_client: {policy: block, bytes: 16KiB}`+kept+`}
`, up)
			c := deaf(t, g.url)
			for before := int32(-1); written.Load() == 0 || before != written.Load(); time.Sleep(300 * time.Millisecond) {
				before = written.Load()
			}
			if written.Load() == n {
				t.Error("the upstream did not wait")
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			got := text(t, resp)
			if strings.Count(got, event) != n || !strings.HasSuffix(got, chatDone) {
				t.Errorf("%d of %d events", strings.Count(got, event), n)
			}
		})
	}
}

// One slow client slows no other.
func TestOthersAreUnaffected(t *testing.T) {
	m := startMock(t, "ttft=1ms,gap=1ms,n=50")
	flood := scripted(t, floodOf(chat(strings.Repeat("x", 8<<10))))
	g := start(t, `
upstreams: {flood: {urls: ["%s"]}, main: {urls: ["%s"]}}
routes:
  - {path: "/v1/chat/completions", upstream: flood, slow_client: {policy: block, bytes: 64KiB}}
  - {path: "/*", upstream: main}
`, flood, m.URL())
	deaf(t, g.url)
	began := time.Now()
	for range 5 {
		if got := text(t, post(t, g.url+"/v1/messages", `{"model":"m","stream":true,"max_tokens":9,"messages":[]}`)); !strings.Contains(got, "message_stop") {
			t.Errorf("got %q", got)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("five short streams took %s", took)
	}
}
