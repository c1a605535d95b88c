package gateway

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// enter joins and waits.
func (g *gate) enter(ctx context.Context, r *route, key principal) *refusal {
	w, no := g.join(r, key)
	if no == nil {
		no = g.wait(ctx, w)
	}
	return no
}

func TestGateLimits(t *testing.T) {
	r1, r2 := &route{Route: Route{Path: "/1"}}, &route{Route: Route{Path: "/2"}}
	k1, k2 := principal{1}, principal{2}
	for _, c := range []struct {
		name   string
		l      Limits
		route  *route
		key    principal
		reason string
		status int
	}{
		{"all", Limits{Streams: 1}, r2, k2, "full", 503},
		{"route", Limits{PerRoute: 1}, r1, k2, "per_route", 503},
		{"other route", Limits{PerRoute: 1}, r2, k1, "", 0},
		{"key", Limits{PerKey: 1}, r2, k1, "per_key", 429},
		{"other key", Limits{PerKey: 1}, r1, k2, "", 0},
		{"none", Limits{}, r1, k1, "", 0},
	} {
		g := newGate(c.l)
		if no := g.enter(context.Background(), r1, k1); no != nil {
			t.Fatalf("%s: the first: %+v", c.name, no)
		}
		no := g.enter(context.Background(), c.route, c.key)
		switch {
		case c.reason == "" && no != nil, c.reason != "" && (no == nil || no.reason != c.reason || no.status != c.status):
			t.Errorf("%s: %+v", c.name, no)
		}
	}
}

// Those who wait get their places in their order; one who cannot get in does
// not keep out those behind.
func TestGateQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &route{}
		g := newGate(Limits{Streams: 2, PerKey: 1, Queue: 3, QueueWait: time.Second})
		busy, other, third := principal{1}, principal{2}, principal{3}
		_ = g.enter(t.Context(), r, busy)
		_ = g.enter(t.Context(), r, other)
		var mu sync.Mutex
		var order []byte
		var all sync.WaitGroup
		for _, k := range []principal{busy, third, {4}} {
			all.Go(func() {
				no := g.enter(t.Context(), r, k)
				mu.Lock()
				defer mu.Unlock()
				if no != nil {
					order = append(order, 'x')
					return
				}
				order = append(order, '0'+k[0])
			})
			synctest.Wait()
		}
		if no := g.enter(t.Context(), r, principal{5}); no == nil || no.reason != "full" {
			t.Errorf("a fourth in a queue of three: %+v", no)
		}
		g.leave(r, other) // busy has its one place: third goes first
		synctest.Wait()
		g.leave(r, third)
		synctest.Wait()
		time.Sleep(2 * time.Second) // busy waited in vain
		all.Wait()
		if string(order) != "34x" {
			t.Errorf("order %q", order)
		}
		g.leave(r, busy)
		g.leave(r, principal{4})
		if g.count() != 0 || len(g.perKey) != 0 || len(g.perRoute) != 0 {
			t.Errorf("%d active, %v, %v", g.count(), g.perKey, g.perRoute)
		}
	})
}

// A refusal comes before the upstream is asked, with Retry-After.
func TestRefusal(t *testing.T) {
	url, asked, _ := upstreamThatTells(t, sse(chat("a")))
	g := start(t, small+"limits: {streams: 1, queue: 0}\n", url)
	first := post(t, g.url+"/v1/chat/completions", ask1)
	within(t, "the upstream is asked", asked)
	resp := post(t, g.url+"/v1/messages", ask1)
	if got := text(t, resp); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" || !strings.Contains(got, `"overloaded_error"`) || !strings.Contains(got, `"retryable":true`) {
		t.Errorf("%d %v %q", resp.StatusCode, resp.Header, got)
	}
	if len(asked) != 0 {
		t.Error("the upstream was asked")
	}
	_ = first.Body.Close()
	until(t, "the place is free", func() bool { return g.g.gate.count() == 0 })
}

func TestDrain(t *testing.T) {
	release := make(chan struct{})
	g := start(t, small, scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sse(chat("a"))(w, r)
		<-release
		sse(chatFinish+chatDone)(w, r)
	}))
	resp := post(t, g.url+"/v1/chat/completions", ask1)
	drained := make(chan error)
	go func() { drained <- g.g.Drain(context.Background()) }()
	until(t, "it is not ready", func() bool { return !g.g.Ready() })
	if r := post(t, g.url+"/v1/chat/completions", ask1); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("a new request: %d", r.StatusCode)
	}
	close(release)
	if got := text(t, resp); got != chat("a")+chatFinish+chatDone {
		t.Errorf("the stream in flight: %q", got)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// What does not end in time is ended in its own protocol, with a hint when to
// come again.
func TestCloseEndsStreamsInBand(t *testing.T) {
	g := start(t, small, scripted(t, sse(chat("a"), "wait")))
	resp := post(t, g.url+"/v1/chat/completions", ask1)
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	if err := g.g.Drain(ctx); err == nil || !strings.Contains(err.Error(), "1 requests were still in flight") {
		t.Errorf("drain: %v", err)
	}
	g.g.Close()
	got := text(t, resp)
	if !strings.Contains(got, `"reason":"shutdown","retryable":true`) || !strings.Contains(got, `"retry_after_ms":`) {
		t.Errorf("got %q", got)
	}
}
