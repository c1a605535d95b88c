package gateway

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// relayed is what an observer is told of writes to clients.
type relayed struct {
	nobody
	mu    sync.Mutex
	added []time.Duration
	bytes []int
	count int // events
	done  int
}

func (r *relayed) Relayed(_ string, added time.Duration, events, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added, r.bytes, r.count = append(r.added, added), append(r.bytes, bytes), r.count+events
}

func (r *relayed) Ended(Ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
}

// lateWriter is a connection whose writes take their time, and that knows how
// much each of them brought.
type lateWriter struct {
	http.ResponseWriter
	late   time.Duration
	writes *[]string
}

func (w *lateWriter) Write(p []byte) (int, error) {
	time.Sleep(w.late)
	*w.writes = append(*w.writes, string(p))
	return w.ResponseWriter.Write(p)
}

func (w *lateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Every write to a client that brought something of the upstream is told once,
// with the time from its oldest read to its end; a heartbeat is told of never.
func TestAddedLatency(t *testing.T) {
	for name, c := range map[string]struct {
		late time.Duration
		more string // of the route
	}{
		"ordinary": {0, ""},
		"slow":     {60 * time.Millisecond, ""},
		"paced":    {0, ", pacing: {enabled: true}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := scripted(t, sse(chat("a"), "150ms", chat("b"), chat("c"), "150ms", chatFinish, chatDone))
			conf, err := Load("gateway.yaml", []byte(strings.Replace("upstreams: {main: {urls: [\"%s\"]}}\nroutes: [{path: \"/*\", upstream: main, heartbeat: 50ms"+c.more+"}]\n", "%s", url, 1)))
			if err != nil {
				t.Fatal(err)
			}
			seen := &relayed{}
			g, err := New(conf, Options{Observer: seen, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			var writes []string
			own := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g.Handler().ServeHTTP(&lateWriter{w, c.late, &writes}, r)
			}), g.Close)
			began := time.Now()
			_ = text(t, post(t, own+"/v1/chat/completions", ask1))
			took := time.Since(began)
			until(t, "it ended", func() bool {
				seen.mu.Lock()
				defer seen.mu.Unlock()
				return seen.done == 1
			})
			var want []int
			beats := 0
			for _, w := range writes {
				if w == ": hb\n" {
					beats++
					continue
				}
				want = append(want, len(w))
			}
			if !slices.Equal(seen.bytes, want) || seen.count != 3 || beats == 0 {
				t.Errorf("told of %v bytes in %d events, written were %v and %d heartbeats", seen.bytes, seen.count, want, beats)
			}
			for i, d := range seen.added {
				if d < c.late || d > took || d == 0 {
					t.Errorf("write %d: %s were added, of %s, where a write takes %s", i+1, d, took, c.late)
				}
			}
		})
	}
}
