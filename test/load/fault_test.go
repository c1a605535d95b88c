package load

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/mock"
)

const faultPlan = `target: {url: "URL", model: mock, timeout: 2s, connections: fresh}
load: [{name: p, arrivals: constant, rate: 40/s, duration: 2s}]
scenarios: [{name: a}]
gates: {complete: [share >= 99%], ttft: [p95 < 20s]}
`

// run is the fault plan against a URL. Whatever happened, every request that
// was due is in the result and in the log, and the run ends with the code.
func run(t *testing.T, url string, want int) *result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	code, r, stderr := bench(t, strings.Replace(faultPlan, "URL", url, 1), "-o", dir)
	if code != want || r.Verdict != "fail" || r.Health.Verdict == "invalid" {
		t.Errorf("exit code %d, verdict %s, health %+v\n%s", code, r.Verdict, r.Health, stderr)
	}
	if n := r.requests(); n != 80 {
		t.Errorf("%d requests of 80 in the outcomes: %+v", n, r.Outcomes)
	}
	if n := analyze(t, dir); n != 80 {
		t.Errorf("%d requests of 80 in the log", n)
	}
	return r
}

// ttft says that no request without output counts as a fast one: all are in
// the set, and only those that spoke reached it.
func (r *result) ttft(t *testing.T, least, most int) {
	t.Helper()
	for _, m := range r.Scenarios[0].Metrics {
		if m.Metric == "ttft" {
			if m.N != 80 || m.Reached < least || m.Reached > most {
				t.Errorf("ttft: %d reached of %d, want %d to %d of 80", m.Reached, m.N, least, most)
			}
			return
		}
	}
	t.Error("no ttft")
}

func TestTargetDies(t *testing.T) {
	t.Parallel()
	s := startService(t)
	kill := time.AfterFunc(1200*time.Millisecond, func() { _ = s.Process.Kill() })
	defer kill.Stop()
	r := run(t, s.url+"/v1/chat/completions?ttft=50ms&gap=30ms&n=10", 3)
	if r.Outcomes["complete"].N < 5 || r.Outcomes["reset"].N+r.Outcomes["truncated"].N < 1 || r.Outcomes["error_early"].N < 5 {
		t.Errorf("%+v", r.Outcomes)
	}
	r.ttft(t, r.Outcomes["complete"].N, 80-r.Outcomes["error_early"].N)
}

// The service is there for a quarter of a second, and for the next it is not:
// connections are refused by the system, as where a server restarts.
func TestTargetRefusesHalf(t *testing.T) {
	t.Parallel()
	r := run(t, "http://"+flapping(t, 250*time.Millisecond)+"/v1/chat/completions?ttft=5ms&gap=1ms&n=3", 3)
	complete, refused := r.Outcomes["complete"].N, r.Outcomes["error_early"].N
	if complete < 15 || refused < 15 {
		t.Errorf("%+v", r.Outcomes)
	}
	r.ttft(t, complete, 80-refused)
}

// flapping is the address of a mock that stops listening every now and then.
func flapping(t *testing.T, every time.Duration) string {
	t.Helper()
	m, err := mock.New(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listen := func(addr string) net.Listener {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := listen("127.0.0.1:0")
	s := &http.Server{Handler: m.Handler()}
	var serving sync.WaitGroup
	quit := make(chan struct{})
	serving.Go(func() {
		for {
			serving.Go(func() { _ = s.Serve(l) }) // its listener closes
			if wait(quit, every) {
				return
			}
			l.Close()
			if wait(quit, every) {
				return
			}
			again, err := net.Listen("tcp", l.Addr().String())
			if err != nil {
				t.Errorf("the address was taken meanwhile: %v", err)
				return
			}
			l = again
		}
	})
	addr := l.Addr().String()
	t.Cleanup(func() {
		close(quit)
		s.Close()
		serving.Wait()
		m.Close()
	})
	return addr
}

// wait reports whether the test ended within d.
func wait(quit chan struct{}, d time.Duration) bool {
	select {
	case <-quit:
		return true
	case <-time.After(d):
		return false
	}
}

// Every stream breaks, hangs or never speaks: latency of what came is shown,
// and nothing passes behind it.
func TestTargetBreaksEveryStream(t *testing.T) {
	t.Parallel()
	s := startService(t)
	for _, c := range []struct {
		name, set, outcome string
		reached            int // of ttft
		code               int
	}{
		{"reset", "reset_after=3", "reset", 80, 3},
		{"hang", "hang_after=3", "timeout", 80, 3},
		{"silent", "hang_after=0", "hung", 0, 3},
		{"cut", "truncate_after=3", "truncated", 80, 3},
		{"fail fast", "status=503", "error_early", 0, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, s.url+"/v1/chat/completions?ttft=5ms&gap=2ms&n=8&"+c.set, c.code)
			if r.Outcomes[c.outcome].N != 80 {
				t.Errorf("%+v", r.Outcomes)
			}
			r.ttft(t, c.reached, c.reached)
			for _, g := range r.Gates {
				if g.Metric == "ttft" && (g.Verdict == "pass") != (c.reached > 0) {
					t.Errorf("gate on ttft: %s", g.Verdict)
				}
			}
		})
	}
}
