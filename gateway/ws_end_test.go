package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/relay"
	"weir/ws"
)

// A cancel reaches the upstream in every state, and the stream ends once.
func TestSocketCancel(t *testing.T) {
	for _, c := range []struct{ name, first, route string }{
		{"before headers", "", ""},
		{"silent", "headers", ""},
		{"held", ": hello\n\n", ""},
		{"in the middle", chat("a"), ""},
		{"in the middle of a resumable one", chat("a"), ", resume: {enabled: true, grace: 1h}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, gone := make(chan struct{}), make(chan struct{})
			up := scripted(t, func(w http.ResponseWriter, r *http.Request) {
				close(asked)
				if c.first != "" {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, strings.TrimPrefix(c.first, "headers"))
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
				close(gone)
			})
			g := startLog(t, relay.MemoryOptions{}, strings.Replace(small, "upstream: main}", "upstream: main"+c.route+"}", 1), up)
			p, _ := connect(t, g.url)
			p.say(startA)
			if strings.HasPrefix(c.first, "data") {
				next[*ws.Open](p)
				next[*ws.Event](p)
			} else {
				await(t, func() bool { return isClosed(asked) })
			}
			p.say(`{"type":"cancel","id":"a"}`)
			if got := p.whole("a"); got.end.Outcome != "cancelled" || got.end.Code != ws.Stopped {
				t.Errorf("%+v", got.end)
			}
			await(t, func() bool { return isClosed(gone) })
			p.say(`{"type":"cancel","id":"a"}`)
			if e := next[*ws.Error](p); e.Reason != "unknown_id" {
				t.Errorf("%+v", e)
			}
		})
	}
}

// await polls for a condition, generously.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to be")
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Queued requests are cancelled too.
func TestSocketCancelQueued(t *testing.T) {
	up := newStepped(t)
	g := start(t, small+"limits: {streams: 1, queue_wait: 1h}\n", up.url)
	p, _ := connect(t, g.url)
	p.say(startA)
	await(t, func() bool { return g.g.gate.count() == 1 })
	p.say(strings.Replace(startA, `"a"`, `"b"`, 1))
	await(t, func() bool { g.g.gate.mu.Lock(); defer g.g.gate.mu.Unlock(); return len(g.g.gate.waiting) == 1 })
	p.say(`{"type":"cancel","id":"b"}`)
	if e := next[*ws.End](p); e.ID != "b" || e.Outcome != "cancelled" {
		t.Errorf("%+v", e)
	}
	close(up.next)
	p.whole("a")
}

// Leaving is not stopping: a resumable stream goes on, and its owner's cancel on
// another socket ends it for all.
func TestSocketLeaveAndStop(t *testing.T) {
	up := newStepped(t)
	g := startLog(t, relay.MemoryOptions{}, resuming, up.url)
	p, _ := connect(t, g.url)
	p.say(startA)
	up.next <- chat("one")
	open := next[*ws.Open](p)
	if e := next[*ws.Event](p); e.Seq != 1 || e.EventID == "" {
		t.Errorf("%+v", e)
	}
	p.say(`{"type":"leave","id":"a"}`)
	if e := next[*ws.End](p); e.Outcome != "left" || e.Code != ws.Normal {
		t.Errorf("%+v", e)
	}
	q, _ := connect(t, g.url)
	q.say(`{"type":"resume","id":"r","stream":"` + open.Stream + `","after":1}`)
	next[*ws.Open](q)
	up.next <- chat("two")
	if e := next[*ws.Event](q); e.Seq != 2 {
		t.Errorf("%+v", e)
	}
	q.say(`{"type":"cancel","id":"r"}`)
	if got := q.whole("r"); got.end.Outcome != "cancelled" {
		t.Errorf("%+v", got.end)
	}
	await(t, func() bool { return isClosed(up.gone) })
}

// A socket that goes takes its streams with it, as a request that is given up.
func TestSocketGoneCancels(t *testing.T) {
	up := newStepped(t)
	g := start(t, small, up.url)
	p, _ := connect(t, g.url)
	p.say(startA)
	up.next <- chat("one")
	next[*ws.Open](p)
	_ = p.conn.CloseNow()
	await(t, func() bool { return isClosed(up.gone) && g.g.gate.count() == 0 && g.g.sockets.count() == 0 })
}

func TestSocketDrain(t *testing.T) {
	up := newStepped(t)
	g := start(t, small, up.url)
	idle, _ := connect(t, g.url)
	busy, _ := connect(t, g.url)
	busy.say(startA)
	up.next <- chat("one")
	next[*ws.Open](busy)
	next[*ws.Event](busy)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- g.g.Drain(ctx) }()
	if d := next[*ws.DrainHint](idle); d.RetryAfterMs < 1000 {
		t.Errorf("%+v", d)
	}
	if code, reason := idle.closed(); code != ws.Drain || !strings.HasPrefix(reason, "drain retry_after_ms=") {
		t.Errorf("%d %s", code, reason)
	}
	next[*ws.DrainHint](busy)
	busy.say(strings.Replace(startA, `"a"`, `"b"`, 1))
	if e := next[*ws.End](busy); e.ID != "b" || e.Code != ws.Drain || e.RetryAfterMs == 0 || !e.Reconnect {
		t.Errorf("%+v", e)
	}
	up.next <- chatFinish + chatDone // what runs may end
	if got := busy.whole("a"); got.end.Outcome != "done" {
		t.Errorf("%+v", got.end)
	}
	if code, _ := busy.closed(); code != ws.Drain {
		t.Errorf("%d", code)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if _, resp, err := dialSocket(t, g.url); err == nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%v %v", resp, err)
	}
}

// At the end every stream has its error and its end, and every socket its code.
func TestSocketShutdown(t *testing.T) {
	up := newStepped(t)
	g := start(t, small, up.url)
	p, _ := connect(t, g.url)
	p.say(startA)
	up.next <- chat("one")
	next[*ws.Open](p)
	next[*ws.Event](p)
	g.g.Close()
	got := p.whole("a")
	if got.end.Outcome != "error" || got.end.Code != ws.Drain || got.end.Reason != "shutdown" || len(got.events) != 1 {
		t.Errorf("%+v", got.end)
	}
	if code, _ := p.closed(); code != ws.Drain {
		t.Errorf("%d", code)
	}
}

func TestSocketHeartbeats(t *testing.T) {
	up := newStepped(t)
	g := start(t, strings.Replace(small, "upstream: main}", "upstream: main, open: {mode: early}, heartbeat: 10ms}", 1), up.url)
	p, _ := connect(t, g.url)
	p.say(startA)
	next[*ws.Open](p)
	if b := next[*ws.Heartbeat](p); b.ID != "a" || b.Text != "" {
		t.Errorf("%+v", b)
	}
	close(up.next)
	p.whole("a")
	p.say(`{"type":"ping","data":"x"}`)
	if got := next[*ws.Pong](p); got.Data != "x" {
		t.Errorf("%+v", got)
	}
}

// Sockets that come and go leave nothing behind.
func TestSocketThousandAborts(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	m := startMock(t, "n=50,ttft=1ms,gap=2ms")
	g := start(t, small, m.URL())
	for i := range n {
		conn, _, err := dialSocket(t, g.url)
		if err != nil {
			t.Fatal(err)
		}
		p := &page{t: t, conn: conn, asked: map[string]int{}, ended: map[string]int{}}
		if i%3 > 0 {
			p.say(startA)
		}
		if i%3 > 1 {
			next[*ws.Hello](p)
			next[*ws.Open](p)
		}
		_ = conn.CloseNow()
	}
	await(t, func() bool { return g.g.gate.count() == 0 && g.g.sockets.count() == 0 })
}
