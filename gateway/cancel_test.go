package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// upstreamThatTells is a service that tells when it was asked and when its
// request was cancelled.
func upstreamThatTells(t *testing.T, h http.HandlerFunc) (url string, asked, gone chan struct{}) {
	asked, gone = make(chan struct{}, 10), make(chan struct{}, 10)
	return scripted(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		h(w, r)
		<-r.Context().Done()
		gone <- struct{}{}
	}), asked, gone
}

func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Second):
		t.Errorf("not within a second: %s", what)
	}
}

// The client leaves, in every state: the upstream knows within a second.
func TestClientGone(t *testing.T) {
	for _, c := range []struct {
		state string
		up    http.HandlerFunc
		reads string // what the client waits for before it leaves
		want  string
	}{
		{"before headers", func(http.ResponseWriter, *http.Request) {}, "", "connect client_gone"},
		{"silent after headers", sse(""), "", "held client_gone"},
		{"held", sse(chatRole), "", "held client_gone"},
		{"silent in mid-stream", sse(chat("a")), chat("a"), "relay client_gone"},
		{"speaking", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				sse(chat("a"), "1ms")(w, r)
			}
		}, chat("a"), "relay client_gone"},
	} {
		t.Run(c.state, func(t *testing.T) {
			url, asked, gone := upstreamThatTells(t, c.up)
			g := start(t, small, url)
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			left := make(chan struct{})
			go func() {
				defer close(left)
				resp, err := tryPost(ctx, g.url+"/v1/chat/completions", `{"stream":true,"max_tokens":100}`)
				if err == nil {
					_, _ = io.ReadFull(resp.Body, make([]byte, len(c.reads)))
					leave()
					_ = resp.Body.Close()
				}
			}()
			within(t, "the upstream is asked", asked)
			if c.reads == "" {
				time.Sleep(20 * time.Millisecond)
				leave()
			}
			within(t, "the upstream's request is cancelled", gone)
			<-left
			until(t, "the place is free", func() bool { return g.g.gate.count() == 0 })
			g.mu.Lock()
			defer g.mu.Unlock()
			if !slices.Contains(g.cancelled, c.want) {
				t.Errorf("told %q, want %q", g.cancelled, c.want)
			}
		})
	}
}

// A request that waits for its place leaves the queue with its client.
func TestClientGoneWhileQueued(t *testing.T) {
	url, asked, _ := upstreamThatTells(t, sse(chat("a")))
	g := start(t, small+"limits: {streams: 1}\n", url)
	resp := post(t, g.url+"/v1/chat/completions", ask1)
	within(t, "the upstream is asked", asked)
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = tryPost(ctx, g.url+"/v1/chat/completions", ask1)
	}()
	waiting := func() int {
		g.g.gate.mu.Lock()
		defer g.g.gate.mu.Unlock()
		return len(g.g.gate.waiting)
	}
	until(t, "it waits", func() bool { return waiting() == 1 })
	leave()
	<-left
	until(t, "it no longer waits", func() bool { return waiting() == 0 })
	_ = resp.Body.Close()
	until(t, "the place is free", func() bool { return g.g.gate.count() == 0 })
	if len(asked) != 0 {
		t.Error("the upstream was asked for a client that was gone")
	}
}

func TestStop(t *testing.T) {
	url, _, gone := upstreamThatTells(t, sse(chat("a")))
	g := start(t, small, url)
	resp := post(t, g.url+"/v1/chat/completions", ask1, "Authorization", "Bearer mine")
	stop := g.url + "/weir/streams/" + resp.Header.Get("Weir-Stream") + "/stop"
	for _, foreign := range []string{"Bearer other", ""} {
		if r := post(t, stop, "", "Authorization", foreign); r.StatusCode != http.StatusNotFound {
			t.Errorf("a foreign stop: %d", r.StatusCode)
		}
	}
	if r := post(t, g.url+"/weir/streams/0123/stop", "", "Authorization", "Bearer mine"); r.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown stream: %d", r.StatusCode)
	}
	if r := post(t, stop, "", "Authorization", "Bearer mine"); r.StatusCode != http.StatusNoContent {
		t.Errorf("stop: %d", r.StatusCode)
	}
	within(t, "the upstream's request is cancelled", gone)
	got := text(t, resp)
	if !strings.HasPrefix(got, chat("a")) || strings.Count(got, `"reason":"stopped"`) != 1 || strings.Contains(got, `"retryable":true`) {
		t.Errorf("got %q", got)
	}
}

// Many clients that come and go leave nothing behind: no goroutine (goleak
// looks at the end), no connection, no place.
func TestConnectsAndAborts(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	m := startMock(t, "ttft=1ms,gap=1ms,n=1000")
	g := start(t, small, m.URL())
	var next atomic.Int64
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := abort(strings.TrimPrefix(g.url, "http://"), i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	until(t, "every place is free", func() bool { return g.g.gate.count() == 0 })
	until(t, "the upstream has no stream left", func() bool { return m.Stats().Active == 0 })
	if live := g.g.streams.all(); len(live) != 0 {
		t.Errorf("%d streams are still registered", len(live))
	}
	// Three of four asked, and two of them waited for an answer.
	until(t, "all who asked were served", func() bool { return len(g.all()) == n/4*3 })
	if s := m.Stats(); s.Started < int64(n/2) || s.Started != s.Cancelled {
		t.Errorf("of %d clients the service saw %+v", n, s)
	}
}

// abort is a client that leaves: with half a request, with a whole one at once,
// with the head of the answer, or in mid-stream; half of those reset.
func abort(addr string, i int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	ask := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(ask1), ask1)
	reads := 0
	switch i % 4 {
	case 0:
		ask = ask[:i/4%len(ask)]
	case 2:
		reads = 15
	case 3:
		reads = 400 + i%1000
	}
	if _, err := io.WriteString(c, ask); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, make([]byte, reads)); err != nil {
		return err
	}
	if i%8 > 3 && reads > 0 {
		_ = c.(*net.TCPConn).SetLinger(0)
	}
	return nil
}
