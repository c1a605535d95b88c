package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// deaf opens a stream and never reads it.
func deaf(t *testing.T, url string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(ask1), ask1)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A client that never reads costs a bounded memory, and nobody else anything.
func TestClientThatNeverReads(t *testing.T) {
	event := chat(strings.Repeat("x", 8<<10))
	url, asked, gone := upstreamThatTells(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
		}
	})
	g := start(t, `
upstreams: {main: {urls: ["%s"]}}
routes:
  - {path: "/v1/*", upstream: main, slow_client: {policy: drop, bytes: 64KiB, write_timeout: 2s}}
  - {path: "/fast/*", upstream: main}
`, url)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 8 {
		deaf(t, g.url)
	}
	for range 8 {
		within(t, "asked", asked)
	}
	runtime.ReadMemStats(&after)
	for range 8 {
		select {
		case <-gone:
		case <-time.After(5 * time.Second):
			t.Fatal("a deaf client's upstream is still busy")
		}
	}
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	until(t, "the places are free", func() bool { return g.g.gate.count() == 0 })
	for _, e := range g.all() {
		if e.Reason != "slow_client" {
			t.Errorf("reason %q", e.Reason)
		}
	}
}

// Blocking is a policy too: nothing is lost, the upstream waits.
func TestSlowClientThatBlocks(t *testing.T) {
	const n = 3000
	event := chat(strings.Repeat("y", 4<<10))
	up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range n {
			_, _ = io.WriteString(w, event)
		}
		_, _ = io.WriteString(w, chatFinish+chatDone)
	})
	g := start(t, `
upstreams: {main: {urls: ["%s"]}}
routes:
  - {path: "/v1/*", upstream: main, slow_client: {policy: block, bytes: 16KiB}}
`, up)
	c := deaf(t, g.url)
	time.Sleep(300 * time.Millisecond)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got := text(t, resp)
	if strings.Count(got, event) != n || !strings.HasSuffix(got, chatDone) {
		t.Errorf("%d of %d events", strings.Count(got, event), n)
	}
}

// One slow client slows no other.
func TestOthersAreUnaffected(t *testing.T) {
	m := startMock(t, "ttft=1ms,gap=1ms,n=50")
	flood := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, chat(strings.Repeat("x", 8<<10))); err != nil {
				return
			}
		}
	})
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
