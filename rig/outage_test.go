package rig

import (
	"strings"
	"testing"
	"time"

	"weir/mock"
	"weir/stat"
)

const outagePlan = lax + `target: {url: "URL/v1/chat/completions?ttft=10ms&gap=1ms&n=3", model: mock}
load: [LOAD]
scenarios: [{name: a}]
`

// above is the share of requests whose first output took longer than limit ms.
func above(b *Bench, metric string, limit float64) float64 {
	n := 0.0
	for i := range b.Rows {
		if v, ok := b.Rows[i].Values.Get(metric).Get(); !ok || v > limit {
			n++
		}
	}
	return n / float64(len(b.Rows))
}

// A service that stands still for 300 ms in every second, measured for real:
// people who come meanwhile wait, and a closed loop does not ask meanwhile.
// Where a limit in flight holds requests back, the wait is in the latency from
// schedule and not in that from sent.
func TestOutageIsSeenByOpenLoadOnly(t *testing.T) {
	t.Parallel()
	s, err := mock.Start(mock.Options{FreezeEvery: time.Second, FreezeFor: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	run := func(phase string) *Bench {
		return bench(t, strings.NewReplacer("URL", s.URL(), "LOAD", phase).Replace(outagePlan), BenchOptions{})
	}
	open := run("{name: p, arrivals: constant, rate: 50/s, duration: 2500ms}")
	closed := run("{name: p, arrivals: closed, concurrency: 2, duration: 2500ms}")
	queued := run("{name: p, arrivals: constant, rate: 50/s, duration: 2500ms, max_in_flight: 3, on_full: queue}")
	o, c := above(open, "ttft", 100), above(closed, "ttft", 100)
	if o < 0.12 || c > o/3 {
		t.Errorf("waited above 100 ms: %.3f of an open load, %.3f of a closed one", o, c)
	}
	due, sent := above(queued, "ttft", 100), above(queued, "ttft_sent", 100)
	if due < 0.12 || sent > due/2 {
		t.Errorf("in a queue: %.3f since due, %.3f since sent", due, sent)
	}
	if v := queued.Rows[0].Values.Get("lateness"); v.Is != stat.Reached {
		t.Errorf("lateness %v", v)
	}
}
