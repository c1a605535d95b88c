package gateway

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pacedIn runs a stream through a gateway that paces, on a clock of its own,
// and gives when each of its words was sent and left, and its record.
func pacedIn(t *testing.T, config string, at []time.Duration) (left []time.Duration, extra map[string]string) {
	t.Helper()
	pieces := []string{chatRole}
	last := time.Duration(0)
	for i, d := range at {
		pieces = append(pieces, (d - last).String(), chat(fmt.Sprint("word-", i, "-")))
		last = d
	}
	pieces = append(pieces, "1s", chatFinish, chatDone)
	inBubble(t, "routes: [{path: \"/*\", upstream: main, "+config+"}]\n", sse(pieces...), func(b *bubble) {
		began := time.Now()
		got := b.ask()
		for i := range at {
			w := b.with(fmt.Sprint("word-", i, "-"))
			if len(w) != 1 || strings.Count(got, fmt.Sprint("word-", i, "-")) != 1 {
				t.Fatalf("word %d left %d times", i, len(w))
			}
			left = append(left, w[0].at.Sub(began))
		}
		extra = b.all()[0].Records[0].Facts.Extra
	})
	return left, extra
}

// most is the longest that a word was kept.
func most(at, left []time.Duration) (d time.Duration) {
	for i := range at {
		d = max(d, left[i]-at[i])
	}
	return d
}

// stddev is of the gaps between arrivals, those at the same time counting as
// one, in ms.
func stddev(at []time.Duration) float64 {
	var gaps []float64
	sum := 0.0
	for i := 1; i < len(at); i++ {
		if at[i] > at[i-1] {
			gaps = append(gaps, float64(at[i]-at[i-1])/1e6)
			sum += gaps[len(gaps)-1]
		}
	}
	mean, square := sum/float64(len(gaps)), 0.0
	for _, g := range gaps {
		square += (g - mean) * (g - mean)
	}
	return math.Sqrt(square / float64(len(gaps)))
}

func inMs(t *testing.T, extra map[string]string, name string) time.Duration {
	t.Helper()
	ms, err := strconv.ParseFloat(extra[name], 64)
	if err != nil {
		t.Errorf("%s is %q in %v", name, extra[name], extra)
	}
	return time.Duration(ms * 1e6)
}

// A bursty source becomes even by what issue and guide promise, each word
// within the bound that its route says, and the record says the same.
func TestPacingKeepsItsBound(t *testing.T) {
	for _, c := range []struct {
		config  string
		silence time.Duration // after 5 events in 5 ms
		bound   time.Duration
		fell    float64 // how much gap_stddev does, at least; 0 = not looked at
	}{
		{"pacing: {enabled: true}", 200 * time.Millisecond, 150 * time.Millisecond, 0.8},
		{"pacing: {enabled: true}, resume: {enabled: true}", 200 * time.Millisecond, 150 * time.Millisecond, 0.8},
		{"pacing: {enabled: true}", 550 * time.Millisecond, 150 * time.Millisecond, 0},
		{"pacing: {enabled: true, max_delay: 60ms}", 200 * time.Millisecond, 60 * time.Millisecond, 0},
		{"pacing: {enabled: true, max_delay: 1s}", 800 * time.Millisecond, time.Second, 0.8},
	} {
		var at []time.Duration
		const bursts, burst = 60, 5
		for i := range bursts * burst {
			at = append(at, time.Second+time.Duration(i/burst)*(c.silence+5*time.Millisecond)+time.Duration(i%burst)*1250*time.Microsecond)
		}
		left, extra := pacedIn(t, c.config, at)
		before, after := stddev(at), stddev(left)
		said := inMs(t, extra, "pacing_delay_max_ms")
		t.Logf("%s, %s: gap_stddev %.1f ms became %.1f ms (-%.0f %%), at most %s later, %s said", c.config, c.silence, before, after, 100*(1-after/before), most(at, left), said)
		if d := most(at, left); d > c.bound || d < c.bound/2 || said != d.Truncate(time.Microsecond) {
			t.Errorf("%s: a word came %s later, the bound is %s, and the record says %s", c.config, d, c.bound, said)
		}
		if c.fell > 0 && !(after <= before*(1-c.fell)) {
			t.Errorf("%s: gap_stddev was %.1f ms and is %.1f ms", c.config, before, after)
		}
		if left[0] != at[0] {
			t.Errorf("%s: the first output came %s later", c.config, left[0]-at[0])
		}
		if extra["pacing_bypassed"] != "0" || extra["pacing_events"] != strconv.Itoa(len(at)) {
			t.Errorf("%s: %v", c.config, extra)
		}
	}
}

// A source that is even already is as good as let alone.
func TestPacingOfASteadySource(t *testing.T) {
	for _, gap := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond} {
		var at []time.Duration
		for i := range 200 {
			at = append(at, time.Second+time.Duration(i)*gap+time.Duration(i%3)*gap/20)
		}
		left, extra := pacedIn(t, "pacing: {enabled: true}", at)
		if d, said := most(at, left), inMs(t, extra, "pacing_delay_max_ms"); d > 5*time.Millisecond || said > 5*time.Millisecond {
			t.Errorf("an event each %s: the most was %s, %s said", gap, d, said)
		}
	}
}

// Nothing waits in the pacing buffer behind a client that does not keep up:
// its queue is backlog enough, and what passed it by is counted. The stream is
// kept, so that all of it goes through the queue, and never past it.
func TestPacingBehindAQueue(t *testing.T) {
	const n = 60
	var pieces []string
	for i := range n {
		if i%5 == 0 {
			pieces = append(pieces, "200ms")
		}
		pieces = append(pieces, chat(fmt.Sprint("word-", i, "-", strings.Repeat("x", 500))))
	}
	inBubble(t, "routes: [{path: \"/*\", upstream: main, resume: {enabled: true}, pacing: {enabled: true}, slow_client: {policy: block, bytes: 16KiB}}]\n",
		sse(append(pieces, chatFinish, chatDone)...), func(b *bubble) {
			resp := b.open(http.MethodPost, "/v1/chat/completions", ask1)
			time.Sleep(5 * time.Second) // and reads nothing
			words, events := said(t, b.rest(resp))
			x := b.all()[0].Records[0].Facts.Extra
			if bypassed, err := strconv.Atoi(x["pacing_bypassed"]); err != nil || bypassed < 1 || events < n || strings.Count(words, "word-") != n {
				t.Errorf("%v, %d events, %v", err, events, x)
			}
		})
}
