package workers

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// role is a frame before the first output, which is held back.
const role = "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n"

// withinASecond does something that is to take no longer. A machine that stands
// still takes longer once, but not each time: three tries.
func withinASecond(t *testing.T, what string, try func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 3 {
		d := try()
		if took = append(took, d); d <= time.Second {
			return
		}
	}
	t.Errorf("%s took %s", what, took)
}

// A client that leaves ends the request at the service within a second, in
// every state that it can be in, over an edge and a worker. The lease is too
// long to have a part in it.
func TestCancel(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Title") {
		case "silent":
			say(w, "")
		case "held":
			say(w, role)
		case "mid-stream":
			say(w, chat("one"))
		case "speaking":
			for r.Context().Err() == nil {
				say(w, chat("one"))
				time.Sleep(5 * time.Millisecond)
			}
		}
		linger(r)
	})
	s := newSite(t, strings.Replace(plain, "upstream: main", "upstream: main, open: {mode: hold, hold: 30s}", 1), up.url)
	s.lease = 20 * time.Second
	e := s.edge()
	w := s.worker()
	for _, c := range []struct {
		state string
		reads int // bytes that the client waits for
	}{{"before headers", 0}, {"silent", 0}, {"held", 0}, {"mid-stream", 10}, {"speaking", 1000}} {
		t.Run(c.state, func(t *testing.T) {
			withinASecond(t, "to cancel at the service", func() time.Duration {
				before := up.called()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				read, over := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(over)
					resp, err := tryPost(ctx, e.url+chatPath, ask, "X-Title", c.state)
					if err != nil {
						return
					}
					defer func() { _ = resp.Body.Close() }()
					_, err = io.ReadFull(resp.Body, make([]byte, c.reads))
					if close(read); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
					}
				}()
				await(t, func() bool { return up.called() > before })
				if c.reads > 0 {
					<-read
				} else {
					time.Sleep(50 * time.Millisecond) // what the service said has come to the worker
				}
				began := time.Now()
				leave()
				select {
				case <-up.gone:
				case <-time.After(30 * time.Second):
					t.Fatal("the service was not left")
				}
				took := time.Since(began)
				<-over
				return took
			})
			await(t, func() bool {
				waiting, taken, err := w.queue.Depth(context.Background())
				return err == nil && waiting == 0 && taken == 0
			})
		})
	}
}

// One that waits for a worker leaves the queue within a second of its client,
// and no worker asks for it.
func TestCancelQueued(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		linger(r)
	})
	s := newSite(t, plain+"workers: {jobs: 1, queue_wait: 60s}\n", up.url)
	s.lease = 20 * time.Second
	e := s.edge()
	w := s.worker()
	first := post(t.Context(), t, e.url+chatPath, ask) // which takes the only place
	depth := func() int64 {
		waiting, taken, err := w.queue.Depth(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return waiting + taken
	}
	withinASecond(t, "to leave the queue", func() time.Duration {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		over := make(chan struct{})
		go func() {
			defer close(over)
			if resp, err := tryPost(ctx, e.url+chatPath, ask); err == nil {
				_ = resp.Body.Close()
			}
		}()
		await(t, func() bool { return depth() == 2 })
		began := time.Now()
		leave()
		await(t, func() bool { return depth() == 1 })
		took := time.Since(began)
		<-over
		return took
	})
	_ = first.Body.Close()
	await(t, func() bool { return depth() == 0 })
	if n := up.called(); n != 1 {
		t.Errorf("the service was asked %d times, for one client", n)
	}
}
