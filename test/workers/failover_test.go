package workers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/relay/redis/redistest"
)

const patient = `
upstreams: {main: {urls: ["%s"]}}
routes: [{path: "/*", upstream: main, retry: {attempts: 1}, resume: {grace: 20s}}]
relay: {outage: 20s}
`

// A replica takes over that knows less than was answered: of requests whose
// beginning it has and of those it knows nothing of, each client gets all of its
// answer, or what there was of it and one error, and never waits for nothing.
func TestFailover(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(g *redistest.Watched)
	}{
		{"the master is killed", func(g *redistest.Watched) { g.Master.Kill(); g.Promote() }},
		{"the master lives", func(g *redistest.Watched) { g.Failover() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := redistest.StartWatched(t, 1)
			begun, more, rest := make(chan struct{}, 10), make(chan struct{}), make(chan struct{})
			up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				say(w, chat("one"))
				begun <- struct{}{}
				for i, gate := range []chan struct{}{more, rest} {
					select {
					case <-gate:
						say(w, chat([]string{"two", "three"}[i]))
					case <-r.Context().Done():
						return
					}
				}
				say(w, chatEnd)
			})
			s := newSite(t, patient, up.url)
			s.at = g.URL()
			e := s.edge()
			for range 2 {
				s.worker()
			}
			answers := []<-chan string{asking(t, e), asking(t, e)}
			<-begun
			<-begun
			g.Sync()
			g.Detach()
			answers = append(answers, asking(t, e), asking(t, e))
			<-begun
			<-begun
			close(more)
			time.Sleep(500 * time.Millisecond) // that the edge has it, as a rule
			c.fault(g)
			time.Sleep(2 * time.Second) // two leases
			close(rest)
			for i, answer := range answers {
				select {
				case got := <-answer:
					wholeOrTold(t, i, got)
				case <-time.After(30 * time.Second):
					t.Errorf("request %d: nothing in 30 s", i)
				}
			}
		})
	}
}

// wholeOrTold fails unless an answer is all of it, or a beginning and one error.
func wholeOrTold(t *testing.T, i int, got string) {
	t.Helper()
	body, ok := strings.CutPrefix(got, "200 <nil>")
	all := chat("one") + chat("two") + chat("three") + chatEnd
	if body = strings.TrimPrefix(body, " "); ok && body == all {
		return
	}
	words, last, failed := strings.Cut(body, "data: {\"error\"")
	if !ok || !failed || !strings.HasPrefix(all, words) || strings.Contains(last, `"content"`) {
		t.Errorf("request %d: %q", i, got)
		return
	}
	t.Logf("request %d: %d words, then %.200s", i, strings.Count(words, `"content"`), last)
}

// Of an answer that began, the first events are lost for good: its client is told
// so once, and Redis is not asked for them again and again.
func TestFirstEventsLost(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		linger(r)
	})
	s := newSite(t, strings.Replace(plain, "upstream: main,", "upstream: main, open: {mode: early},", 1), up.url)
	e := s.edge()
	s.worker()
	answer := asking(t, e)
	var key string
	await(t, func() bool {
		_, key, _ = strings.Cut(s.redis.Do("KEYS weir:{*}:s"), "\r\n")
		_, key, _ = strings.Cut(key, "\r\n")
		return key != ""
	})
	key = strings.TrimSuffix(strings.TrimSpace(key), ":s") + ":m"
	s.redis.Do("HSET " + key + " n 1 f 1 t 1")
	select {
	case got := <-answer:
		if !strings.HasPrefix(got, "200") || strings.Count(got, `"error"`) != 1 || !strings.Contains(got, "weir_gap") {
			t.Errorf("%s", got)
		}
	case <-time.After(15 * time.Second):
		t.Error("nothing in 15 s")
	}
}

// What only one client may read goes when it has read it, though its answer ends
// with the last event, before the worker's last word.
func TestReadAndGone(t *testing.T) {
	up := scripted(t, func(_ int, w http.ResponseWriter, r *http.Request) { say(w, chat("one")+chatEnd) })
	s := newSite(t, plain, up.url)
	e := s.edge()
	w := s.worker()
	for range 20 {
		if got := <-asking(t, e); !strings.HasSuffix(got, chatEnd) {
			t.Fatalf("%s", got)
		}
	}
	await(t, func() bool { return strings.HasPrefix(s.redis.Do("KEYS weir:{*}:m"), "*0") })
	await(t, func() bool { return w.jobs.Running() == 0 })
	for _, r := range w.list() {
		if r.Outcome != "complete" {
			t.Errorf("the worker's record says %s: it was told that nobody waits", r.Outcome)
		}
	}
}
