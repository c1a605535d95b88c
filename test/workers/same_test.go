package workers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/dialect"
)

// What comes through an edge and a worker is what the service says, in every
// dialect, whether or not the stream can be resumed.
func TestSameText(t *testing.T) {
	t.Run("plain", func(t *testing.T) { sameText(t, plain) })
	t.Run("resumable", func(t *testing.T) { sameText(t, strings.Replace(plain, "resume: {", "resume: {enabled: true, ", 1)) })
}

func sameText(t *testing.T, config string) {
	m := service(t)
	s := newSite(t, config, m.URL())
	e := s.edge()
	w := s.worker()
	n := 0
	for _, d := range dialect.All {
		text := func(base string) string {
			req, err := d.Request(dialect.Ask{URL: base, Prompt: "hi", Model: "m"})
			if err != nil {
				t.Fatalf("%s: %v", d.Name(), err)
			}
			req.Header.Set("X-Weir-Mock", "ttft=1ms,n=20,gap=1ms,seed=1")
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			resp, err := http.DefaultClient.Do(req.WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			status, body := whole(t, resp)
			if status != 200 {
				t.Errorf("%s: %d %s", d.Name(), status, body)
			}
			return body
		}
		if got, want := text(e.url), text(m.URL()); normal(got) != normal(want) {
			t.Errorf("%s through workers:\n%s\ndirect:\n%s", d.Name(), got, want)
		}
		n++
	}
	await(t, func() bool { return len(e.list()) == n && len(w.list()) == n })
	if a, b := e.list()[0], w.list()[0]; a.Hop != "edge" || b.Hop != "gateway" || a.Outcome != b.Outcome || a.RequestID != b.RequestID {
		t.Errorf("records: %s %s %s, %s %s %s", a.Hop, a.Outcome, a.RequestID, b.Hop, b.Outcome, b.RequestID)
	}
}

// normal leaves out what differs between two answers of the mock.
func normal(body string) string { return times.ReplaceAllString(body, "T") }

var times = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// An answer that is no stream, and a refusal, pass with status and headers.
func TestPlain(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Ratelimit-Remaining", "7")
		if r.URL.Path == "/v1/bad" {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":"`+strings.Repeat("x", 200_000)+`"}`)
	})
	s := newSite(t, plain, up.url)
	e := s.edge()
	s.worker()
	resp := post(t.Context(), t, e.url+"/v1/embeddings", `{}`)
	status, body := whole(t, resp)
	if status != 200 || len(body) != 200_011 || resp.Header.Get("X-Ratelimit-Remaining") != "7" {
		t.Errorf("%d, %d bytes, %v", status, len(body), resp.Header)
	}
	resp = post(t.Context(), t, e.url+"/v1/bad", ask)
	status, _ = whole(t, resp)
	if status != 429 || resp.Header.Get("Retry-After") != "3" {
		t.Errorf("%d %v", status, resp.Header)
	}
}

// Many streams at once, over two edges and two workers.
func TestMany(t *testing.T) {
	m := service(t)
	s := newSite(t, plain, m.URL())
	s.lease = 10 * time.Second // a machine under load is no death
	edges := []*edge{s.edge(), s.edge()}
	ws := []*worker{s.worker(), s.worker()}
	const n = 200
	var all sync.WaitGroup
	var mu sync.Mutex
	bad := 0
	for i := range n {
		all.Go(func() {
			resp, err := tryPost(t.Context(), edges[i%2].url+chatPath, ask, "X-Weir-Mock", "ttft=50ms,n=20,gap=20ms")
			ok := err == nil
			var b []byte
			if ok {
				b, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				ok = err == nil && resp.StatusCode == http.StatusOK && strings.HasSuffix(string(b), "data: [DONE]\n\n") && !strings.Contains(string(b), `"error"`)
			}
			if !ok {
				id := "?"
				if resp != nil {
					id = fmt.Sprint(resp.StatusCode, resp.Header)
				}
				t.Errorf("%v %s\n%s", err, id, b)
				mu.Lock()
				bad++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if bad > 0 {
		t.Log(edges[0].logs.String(), edges[1].logs.String(), ws[0].logs.String(), ws[1].logs.String())
		t.Errorf("%d of %d were not whole", bad, n)
	}
	await(t, func() bool { return len(ws[0].list())+len(ws[1].list()) == n })
	if len(ws[0].list()) == 0 || len(ws[1].list()) == 0 {
		t.Errorf("%d and %d: one worker did it all", len(ws[0].list()), len(ws[1].list()))
	}
	await(t, func() bool {
		waiting, taken, err := ws[0].queue.Depth(context.Background())
		return err == nil && waiting == 0 && taken == 0
	})
	if got := s.redis.Do("XLEN weir:{jobs}"); !strings.HasPrefix(got, ":0") {
		t.Errorf("the queue kept %q", got)
	}
}

// A stop at another edge ends the stream with one error frame.
func TestStopElsewhere(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		linger(r)
	})
	s := newSite(t, plain, up.url)
	e, other := s.edge(), s.edge()
	s.worker()
	resp := post(t.Context(), t, e.url+chatPath, ask, "Weir-Resume", "1")
	await(t, func() bool { return up.called() == 1 }) // its client may be answered before that
	stop := post(t.Context(), t, other.url+"/weir/streams/"+resp.Header.Get("Weir-Stream")+"/stop", "")
	if status, body := whole(t, stop); status/100 != 2 {
		t.Errorf("stop: %d %s", status, body)
	}
	if _, body := whole(t, resp); strings.Count(body, `"error"`) != 1 || !strings.Contains(body, "stopped") {
		t.Errorf("%s", body)
	}
	<-up.gone
}

// Without Redis new requests are refused at once; a stream that runs ends with
// one error when the outage has lasted relay.outage: not before, and no later
// than noticing and a machine under load explain.
func TestRedisDown(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one"))
		if r.URL.Path == "/none" {
			say(w, chatEnd)
			return
		}
		linger(r)
	})
	s := newSite(t, strings.Replace(plain, "upstream: main", "upstream: main, heartbeat: 1s", 1), up.url)
	e := s.edge()
	s.worker()
	resp := post(t.Context(), t, e.url+chatPath, ask)
	await(t, func() bool { return up.called() == 1 })
	killed := time.Now()
	s.redis.Kill()
	await(t, func() bool {
		r, err := tryPost(t.Context(), e.url+chatPath, ask)
		if err != nil {
			return false
		}
		status, body := whole(t, r)
		if status != 503 || r.Header.Get("Retry-After") == "" || !strings.Contains(body, "relay_unavailable") {
			t.Errorf("%d %v %s", status, r.Header, body)
		}
		return true
	})
	if _, body := whole(t, resp); strings.Count(body, `"error"`) != 1 || !strings.Contains(body, "relay_unavailable") {
		t.Errorf("%s", body)
	}
	if took, outage := time.Since(killed), s.conf.Relay.Outage; took < outage-outage/4 || took > outage+8*time.Second {
		t.Errorf("it ended after %s; relay.outage is %s", took, outage)
	}
	s.redis.Run()
	<-up.gone
	await(t, func() bool {
		r, err := tryPost(t.Context(), e.url+"/none", `{}`)
		if err != nil {
			return false
		}
		status, _ := whole(t, r)
		return status == 200
	})
}

// The queue is bounded, and a request waits in it only so long.
func TestQueueFull(t *testing.T) {
	s := newSite(t, strings.TrimSpace(plain)+"\nworkers: {queue: 2, queue_wait: 1s}\n", "http://127.0.0.1:1")
	e := s.edge()
	var all sync.WaitGroup
	reasons := make(chan string, 4)
	for range 4 {
		all.Go(func() {
			r := post(t.Context(), t, e.url+chatPath, ask)
			status, body := whole(t, r)
			reasons <- fmt.Sprint(status, r.Header.Get("Retry-After") != "", strings.Contains(body, "overloaded_workers"))
		})
	}
	all.Wait()
	for range 4 {
		if got := <-reasons; got != "503 true true" {
			t.Error(got)
		}
	}
	if got := s.redis.Do("XLEN weir:{jobs}"); !strings.HasPrefix(got, ":0") {
		t.Errorf("the queue kept %q", got)
	}
}

// A stream that nobody else may read leaves nothing in Redis when it has ended,
// though its client's answer ends with the last event.
func TestEndedStreamsAreDropped(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, chat("one")+chatEnd)
		if r.Header.Get("Openai-Stay") != "" {
			linger(r)
		}
	})
	s := newSite(t, plain, up.url)
	s.lease = 10 * time.Second // nobody dies here
	e := s.edge()
	s.worker()
	for i := range 20 {
		stay := strings.Repeat("x", i%2) // a service that keeps its connection
		if _, body := whole(t, post(t.Context(), t, e.url+chatPath, ask, "OpenAI-Stay", stay)); body != chat("one")+chatEnd {
			t.Errorf("%s", body)
		}
	}
	var left string
	defer func() { t.Log(left) }()
	await(t, func() bool {
		left = s.redis.Do("KEYS weir:{*}:*")
		return !strings.Contains(left, ":m") && !strings.Contains(left, ":s")
	})
}
