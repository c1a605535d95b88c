package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/dialect"
	"weir/probe"
	"weir/stream"
)

// service is a fake whose answers take what it says, on the test's clock.
type service struct {
	mu    sync.Mutex
	asks  []dialect.Ask
	metas []probe.Meta
	takes func(n int, at time.Time) time.Duration
	early bool // refuse
}

func (s *service) Do(ctx context.Context, a dialect.Ask, m probe.Meta) ([]*stream.Record, error) {
	start := time.Now()
	s.mu.Lock()
	n := len(s.asks)
	s.asks, s.metas = append(s.asks, a), append(s.metas, m)
	takes := s.takes(n, start)
	s.mu.Unlock()
	rec := &stream.Record{RequestID: fmt.Sprint("r", n), Index: m.Index, Start: start.UTC(), Labels: m.Labels, InFlight: m.InFlight, Outcome: stream.Complete}
	if s.early {
		rec.Outcome, rec.Reason = stream.ErrorEarly, "refused"
		return []*stream.Record{rec}, nil
	}
	select {
	case <-time.After(takes):
		rec.Events = []stream.Event{{Kind: stream.KindText, Text: "a", At: takes / 2}, {Kind: stream.KindText, Text: "b", At: takes}}
	case <-ctx.Done():
		rec.Outcome = stream.Cancelled
	}
	rec.End = stream.Some(time.Since(start))
	return []*stream.Record{rec}, nil
}

func always(d time.Duration) *service {
	return &service{takes: func(int, time.Time) time.Duration { return d }}
}

// sink gathers records.
type sink struct {
	mu      sync.Mutex
	records []*stream.Record
}

func (s *sink) done(_ Request, records []*stream.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, records...)
}

func (s *sink) outcomes() map[string]int {
	count := map[string]int{}
	for _, r := range s.records {
		count[strings.TrimSpace(string(r.Outcome)+" "+r.Reason)]++
	}
	return count
}

var plain = []Scenario{{Name: "plain", Request: Request{Prompt: "hello"}}}

// play runs a load against the fake.
func play(ctx context.Context, t *testing.T, c Config, s doer) (*Result, *sink) {
	t.Helper()
	got := &sink{}
	c.Done, c.Target = got.done, "http://127.0.0.1:1/v1"
	if c.Scenarios == nil {
		c.Scenarios = plain
	}
	r, err := prepare(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	r.do = s
	res, err := r.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return res, got
}

// Every arrival is released at its moment, exactly: the clock is the test's.
func TestPacesToTheMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := always(3 * time.Second)
		begin := time.Now()
		p := Phase{Name: "p", Rate: 20, Duration: 10 * time.Second, Warmup: 2 * time.Second}
		res, got := play(t.Context(), t, Config{Phases: []Phase{p}, Seed: 3}, s)
		want := times(t, p, phaseSeed(3, 0), Shard{})
		if len(got.records) != len(want) {
			t.Fatalf("%d records of %d arrivals", len(got.records), len(want))
		}
		slices.SortFunc(got.records, func(a, b *stream.Record) int { return a.Index - b.Index })
		warm := 0
		for i, r := range got.records {
			if at := r.Start.Sub(begin).Seconds(); math.Abs(at-want[i]) > 1e-9 || r.Lateness != stream.Some(time.Duration(0)) {
				t.Errorf("request %d sent at %v, due %v, lateness %v", i, at, want[i], r.Lateness)
			}
			if r.Labels[WarmupLabel] == "true" {
				warm++
			}
		}
		ph := res.Phases[0]
		if ph.Warmups != warm || ph.Planned+warm != len(want) || ph.Sent != ph.Planned || ph.Seconds != 10 || warm == 0 {
			t.Errorf("%+v, %d warm of %d", ph, warm, len(want))
		}
		if res.Health.AchievedRatio != stream.Some(1.0) || res.Health.LatenessMax != stream.Some(0.0) || res.Partial {
			t.Errorf("health %+v", res.Health)
		}
	})
}

// What stalls does not move what comes after it: a pacer that was held up
// releases all that is due, each late by what it was.
func TestNothingIsSkippedOrMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Phase{Name: "p", Arrivals: KindConstant, Rate: 10, Duration: 5 * time.Second, MaxInFlight: 1000}
		c := Config{Phases: []Phase{p}}
		got := &sink{}
		c.Done, c.Scenarios, c.Target = got.done, plain, "http://h/"
		r, err := prepare(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		r.do = always(time.Millisecond)
		// The start lies 2 s back: as after a stop of the whole machine.
		r.watch = startWatch(&r.gate, r.limits)
		r.newStreams(t.Context())
		res := &PhaseResult{Name: "p", Arrivals: p.Kind()}
		if err := r.pace(t.Context(), 0, time.Now().Add(-2*time.Second), res); err != nil {
			t.Fatal(err)
		}
		r.drain(t.Context(), &stop{})
		r.close(res, 5*time.Second)
		h := r.watch.finish(r.result.Phases, r.limits)
		late := 0
		for _, rec := range got.records {
			want := max(0, 2*time.Second-time.Duration(rec.Index)*100*time.Millisecond)
			if got := rec.Lateness.Or(-1); got != want {
				t.Errorf("request %d late by %v, want %v", rec.Index, got, want)
			}
			if want > 0 {
				late++
			}
		}
		if len(got.records) != 50 || late != 20 || h.Verdict != Invalid {
			t.Errorf("%d records, %d late, verdict %s %v", len(got.records), late, h.Verdict, h.Reasons)
		}
	})
}

// ttfts are the times to first output in seconds, from schedule and from sent.
func ttfts(records []*stream.Record) (scheduled, sent []float64) {
	for _, r := range records {
		if at, ok := firstBusiness(r); ok {
			sent = append(sent, at.Seconds())
			scheduled = append(scheduled, (at + r.Lateness.Or(0)).Seconds())
		}
	}
	slices.Sort(scheduled)
	slices.Sort(sent)
	return scheduled, sent
}

func share(xs []float64, above float64) float64 {
	n := 0.0
	for _, x := range xs {
		if x > above {
			n++
		}
	}
	return n / float64(len(xs))
}

// frozen is a service that stands still for 5 s in every 20 s: what is asked
// then waits for its end.
func frozen() *service {
	var start time.Time
	return &service{takes: func(_ int, at time.Time) time.Duration {
		if start.IsZero() {
			start = at
		}
		const answer = 100 * time.Millisecond
		if phase := at.Sub(start) % (20 * time.Second); phase >= 15*time.Second {
			return 20*time.Second - phase + answer
		}
		return answer
	}}
}

// The same outage: open arrivals meet it, a closed loop hides it, and where a
// limit in flight makes requests wait it shows in latency from schedule and
// not in latency from sent.
func TestStallShowsInScheduledLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Phase{Name: "p", Rate: 20, Duration: 60 * time.Second, MaxInFlight: 10, OnFull: Queue}
		res, queued := play(t.Context(), t, Config{Phases: []Phase{p}, Seed: 1}, frozen())
		scheduled, sent := ttfts(queued.records)
		// A quarter of the time is outage: a fifth and more of the users wait above 1 s.
		if a, b := share(scheduled, 1), share(sent, 1); a < 0.15 || b > 0.05 {
			t.Errorf("above 1 s: %.3f of users, %.3f by latency from sent", a, b)
		}
		if res.Phases[0].Queued == 0 || res.Health.LatenessP99.Or(1) != 0 || res.Health.Verdict != Valid {
			t.Errorf("queued %d; waiting is no fault of ours: %+v", res.Phases[0].Queued, res.Health)
		}
	})
}

func TestClosedLoopHidesTheStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := Phase{Name: "open", Rate: 20, Duration: 60 * time.Second}
		_, a := play(t.Context(), t, Config{Phases: []Phase{open}, Seed: 1}, frozen())
		closed := Phase{Name: "closed", Arrivals: KindClosed, Concurrency: 2, Duration: 60 * time.Second}
		res, b := play(t.Context(), t, Config{Phases: []Phase{closed}}, frozen())
		opened, _ := ttfts(a.records)
		hidden, _ := ttfts(b.records)
		if x, y := share(opened, 0.5), share(hidden, 0.5); x < 0.15 || y > 0.02 {
			t.Errorf("above 0.5 s: open %.3f, closed %.3f", x, y)
		}
		if len(res.Warnings) == 0 || !strings.Contains(res.Warnings[0], "hides queueing") {
			t.Errorf("warnings %q", res.Warnings)
		}
		for _, r := range b.records {
			if r.Lateness.Known() || r.Labels[ArrivalsLabel] != KindClosed {
				t.Fatalf("a closed request has lateness %v, labels %v", r.Lateness, r.Labels)
			}
		}
	})
}

func TestDropsAreRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Phase{Name: "p", Arrivals: KindConstant, Rate: 10, Duration: 10 * time.Second, MaxInFlight: 3}
		res, got := play(t.Context(), t, Config{Phases: []Phase{p}, Run: "x"}, always(time.Second))
		count := got.outcomes()
		ph := res.Phases[0]
		if ph.Planned != 100 || ph.Sent+ph.Dropped != 100 || count["dropped in_flight_limit"] != ph.Dropped || count["complete"] != ph.Sent {
			t.Errorf("%+v %v", ph, count)
		}
		if ph.Dropped < 60 || ph.PeakInFlight != 3 || res.Health.Verdict != Valid || res.Health.Drops != ph.Dropped {
			t.Errorf("%+v %+v", ph, res.Health)
		}
		ids := map[string]bool{}
		for _, r := range got.records {
			ids[r.RequestID] = true
			if r.Outcome == stream.Dropped && (r.Target != "http://127.0.0.1:1/v1/chat/completions" || r.Dialect != "openai.chat") {
				t.Errorf("dropped of %s, %s", r.Target, r.Dialect)
			}
		}
		if len(ids) != 100 {
			t.Errorf("%d ids for 100 requests", len(ids))
		}
	})
}

func TestDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Phase{Name: "p", Arrivals: KindConstant, Rate: 1, Duration: 10 * time.Second, MaxInFlight: 4, OnFull: Queue}
		begin := time.Now()
		res, got := play(t.Context(), t, Config{Phases: []Phase{p}, Drain: 5 * time.Second}, always(time.Hour))
		if d := time.Since(begin); d != 15*time.Second {
			t.Errorf("ended after %v", d)
		}
		if c := got.outcomes(); c["cancelled end_of_run"] != 10 || res.Partial {
			t.Errorf("%v, partial %t", c, res.Partial)
		}
		for _, r := range got.records {
			if end, ok := r.End.Get(); !ok || end < 5*time.Second {
				t.Errorf("%s is known to exceed %v only", r.RequestID, r.End)
			}
		}
	})
}

func TestInterruptedEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		p := Phase{Name: "p", Arrivals: KindConstant, Rate: 1, Duration: time.Minute, MaxInFlight: 2, OnFull: Queue}
		begin := time.Now()
		res, got := play(ctx, t, Config{Phases: []Phase{p, {Name: "q", Rate: 1, Duration: time.Minute}}}, always(time.Hour))
		if d := time.Since(begin); d > 3600*time.Millisecond || !res.Partial || len(res.Phases) != 1 {
			t.Errorf("ended after %v, partial %t, %d phases", d, res.Partial, len(res.Phases))
		}
		if c := got.outcomes(); c["cancelled interrupted"] != 4 || len(got.records) != 4 {
			t.Errorf("what was not due is no record: %v", c)
		}
	})
}
