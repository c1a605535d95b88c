package load

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/stream"
)

// One at a time: nothing else is in flight, before, within and after.
func TestSingleIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := always(700 * time.Millisecond)
		res, got := play(t.Context(), t, Config{Phases: []Phase{
			{Name: "peak", Rate: 10, Duration: 5 * time.Second},
			{Name: "alone", Arrivals: KindSingle, Requests: 6},
			{Name: "again", Rate: 10, Duration: 5 * time.Second},
		}}, s)
		alone, numbers := 0, map[int]bool{}
		for _, r := range got.records {
			numbers[r.Index] = true
			if r.Labels[PhaseLabel] == "alone" {
				alone++
				if r.InFlight.Or(-1) != 0 {
					t.Errorf("%v others in flight", r.InFlight)
				}
			}
		}
		if alone != 6 || len(numbers) != len(got.records) || len(res.Phases) != 3 {
			t.Errorf("%d alone, %d numbers of %d", alone, len(numbers), len(got.records))
		}
		if p := res.Phases[1]; p.Sent != 6 || p.Seconds < 4.19 || p.Seconds > 4.21 {
			t.Errorf("%+v", p)
		}
	})
}

func TestClosedKeepsItsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Phase{Name: "c", Arrivals: KindClosed, Concurrency: 4, Duration: 10 * time.Second, Warmup: 2 * time.Second}
		res, got := play(t.Context(), t, Config{Phases: []Phase{p}}, always(time.Second))
		ph := res.Phases[0]
		if ph.Warmups != 8 || ph.Sent != 40 || ph.PeakInFlight != 4 || len(got.records) != 48 {
			t.Errorf("%+v, %d records", ph, len(got.records))
		}
		if res.Health.AchievedRatio.Known() || res.Health.LatenessP50.Known() {
			t.Errorf("a closed phase plans nothing: %+v", res.Health)
		}
	})
}

// A service that refuses at once is not asked as fast as a loop can.
func TestClosedDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := always(0)
		s.early = true
		p := Phase{Name: "c", Arrivals: KindClosed, Concurrency: 2, Duration: 10 * time.Second}
		_, got := play(t.Context(), t, Config{Phases: []Phase{p}}, s)
		if n := len(got.records); n > 2100 || n < 1900 {
			t.Errorf("%d requests in 10 s", n)
		}
	})
}

// What an arrival asks follows from its number, whoever sends it.
func TestShardsAskAlike(t *testing.T) {
	scenarios := []Scenario{
		{Name: "a", Weight: 2, Request: Request{Template: "{{.Prompt}} for {{.who}} #{{.Index}}", Prompts: PromptFile{File: "p.txt", Order: "sample"}, Vars: map[string]string{"who": "me"}}},
		{Name: "b", Request: Request{Prompts: PromptFile{File: "p.txt"}}},
	}
	base := write(t, "p.txt", "one\ntwo\nthree\nfour\nfive\n")
	asked := func(shard Shard) map[int]string {
		out := map[int]string{}
		synctest.Test(t, func(t *testing.T) {
			s := always(time.Second)
			p := Phase{Name: "p", Rate: 10, Duration: 10 * time.Second}
			play(t.Context(), t, Config{Phases: []Phase{p}, Scenarios: scenarios, Seed: 8, Shard: shard, Base: base, Nonce: "n"}, s)
			for i, m := range s.metas {
				out[m.Index] = m.Labels[ScenarioLabel] + ": " + s.asks[i].Prompt
			}
		})
		return out
	}
	whole, parts := asked(Shard{}), 0
	for i := 1; i <= 3; i++ {
		for n, text := range asked(Shard{I: i, N: 3}) {
			parts++
			if whole[n] != text {
				t.Errorf("request %d asks %q, in the whole %q", n, text, whole[n])
			}
		}
	}
	if parts != len(whole) || parts < 60 {
		t.Errorf("%d parts of %d", parts, len(whole))
	}
	seen := fmt.Sprint(whole)
	for _, want := range []string{"a: [n-", "] one for me #", "b: [n-", "] five"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not asked: %s", want, seen)
		}
	}
}

// The t of a mark counts from when the request was due; text is gone after.
func TestMarksCountFromSchedule(t *testing.T) {
	b := &bucket{Scenario: Scenario{Name: "a", Marks: map[string]string{"slow": "t > 1000 && text contains 'b'", "never": "t > 9999"}}}
	var err error
	if b.marks, err = b.Marks.compile(); err != nil {
		t.Fatal(err)
	}
	r := &run{buckets: []*bucket{b}, watch: &watch{}}
	now := time.Now()
	rec := &stream.Record{Start: now, TextKept: true, Outcome: stream.Complete, Events: []stream.Event{
		{Kind: stream.KindText, Text: "a", At: 300 * time.Millisecond},
		{Kind: stream.KindText, Text: "b", At: 600 * time.Millisecond},
	}}
	r.settle(&arrival{scheduled: now.Add(-500 * time.Millisecond)}, b, []*stream.Record{rec})
	if got := rec.Events[1].Marks; len(got) != 1 || got[0] != "slow" || len(rec.Events[0].Marks) != 0 {
		t.Errorf("marks %v", got)
	}
	if rec.Events[1].At != 600*time.Millisecond || rec.Events[1].Text != "" || rec.TextKept || rec.Lateness.Or(0) != 500*time.Millisecond {
		t.Errorf("%+v late %v", rec.Events[1], rec.Lateness)
	}
	if u := r.unseen()["a"]; len(u) != 1 || u[0] != "never" || len(rec.Marks) != 2 {
		t.Errorf("unseen %v, asked %v", u, rec.Marks)
	}
}

func TestTraceAsksForItsLengths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := write(t, "t.csv", "timestamp,input_length,output_length\n0,5,7\n1,30,2\n")
		s := always(time.Second)
		res, _ := play(t.Context(), t, Config{Base: base, Scenarios: []Scenario{{Name: "a"}},
			Phases: []Phase{{Name: "t", Arrivals: KindTrace, File: "t.csv"}}}, s)
		if len(s.asks) != 2 || len(strings.Fields(s.asks[1].Prompt)) != 30 || s.asks[1].MaxTokens != 2 || s.asks[0].MaxTokens != 7 {
			t.Errorf("%+v", s.asks)
		}
		if res.Phases[0].Planned != 2 {
			t.Errorf("%+v", res.Phases)
		}
	})
}
