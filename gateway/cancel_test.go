package gateway

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
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
	if testing.Short() || raceOn {
		n = 1_000
	}
	m := startMock(t, "ttft=1ms,gap=1ms,n=1000")
	g := start(t, small, m.URL())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	jobs := make(chan int)
	done := make(chan struct{})
	const workers = 32
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range jobs {
				abort(client, g.url+"/v1/chat/completions", i)
			}
		}()
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	for range workers {
		<-done
	}
	until(t, "every place is free", func() bool { return g.g.gate.count() == 0 })
	until(t, "the upstream has no stream left", func() bool { return m.Stats().Active == 0 })
	if live := g.g.streams.all(); len(live) != 0 {
		t.Errorf("%d streams are still registered", len(live))
	}
}

func abort(client *http.Client, url string, i int) {
	ctx, leave := context.WithTimeout(context.Background(), time.Duration(i%7)*time.Millisecond)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(ask1))
	if err != nil {
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.ReadFull(resp.Body, make([]byte, i%500))
	_ = resp.Body.Close()
}
