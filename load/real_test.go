package load

import (
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/mock"
	"weir/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func server(t *testing.T, set string) string {
	t.Helper()
	s, err := mock.Start(mock.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.URL()
}

func load(t *testing.T, c Config) (*Result, *sink) {
	t.Helper()
	got := &sink{}
	c.Done = got.done
	res, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return res, got
}

// Over real sockets: marks, phases, what the protocol says; and a live view.
func TestAgainstTheMock(t *testing.T) {
	live := NewLive()
	res, got := load(t, Config{
		Target: server(t, "ttft=30ms,gap=5ms,n=10") + "/custom/chat?emit=tool_timeout@3&state=decision:ok@6", Live: live, Run: "r",
		Phases: []Phase{{Name: "p", Arrivals: KindConstant, Rate: 40, Duration: time.Second, Warmup: 250 * time.Millisecond}},
		Scenarios: []Scenario{{Name: "a", Marks: map[string]string{
			"useful": "state.decision != nil", "timed_out": "event == 'tool_timeout'", "never": "event == 'no such'"}}},
		Precise: true,
	})
	if len(got.records) != 50 || res.Phases[0].Sent != 40 || got.outcomes()["complete"] != 50 {
		t.Fatalf("%d records, %+v, %v", len(got.records), res.Phases, got.outcomes())
	}
	for _, r := range got.records {
		marks := map[string]bool{}
		for _, e := range r.Events {
			for _, m := range e.Marks {
				marks[m] = true
			}
			if e.Text != "" || e.State != nil {
				t.Fatalf("text was kept: %+v", e)
			}
		}
		if !marks["useful"] || !marks["timed_out"] || marks["never"] || !r.Lateness.Known() || r.Run != "r" {
			t.Errorf("marks %v, lateness %v, run %q", marks, r.Lateness, r.Run)
		}
	}
	if u := res.Unseen["a"]; len(u) != 1 || u[0] != "never" {
		t.Errorf("unseen %v", res.Unseen)
	}
	if h := res.Health; !h.LatenessP99.Known() || h.Events < 500 || h.AchievedRatio.Or(0) < 0.9 {
		t.Errorf("%+v", h)
	}
	s := live.Snapshot()
	if s.Due != 50 || s.Done != 50 || s.InFlight != 0 || s.Events != 500 || s.Outcomes[stream.Complete] != 50 {
		t.Errorf("%+v", s)
	}
	if p50 := s.TTFT.P50.Or(0); p50 < 29 || s.PlannedRate != 0 && s.Phase != "p" {
		t.Errorf("live ttft p50 %v", s.TTFT)
	}
}

func TestCancelAfter(t *testing.T) {
	url := server(t, "ttft=10ms,gap=10ms,n=120")
	for name, c := range map[string]*Cancel{
		"tokens": {Tokens: 5, Share: 0.5}, "time": {Time: 100 * time.Millisecond, Share: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got := load(t, Config{
				Target: url, Drain: 10 * time.Second, Seed: 1,
				Phases:    []Phase{{Name: "p", Arrivals: KindConstant, Rate: 40, Duration: time.Second}},
				Scenarios: []Scenario{{Name: "a", CancelAfter: c}},
			})
			count := got.outcomes()
			if n := count["cancelled cancel_after"]; n < 8 || n > 32 || n+count["complete"] != 40 {
				t.Errorf("%v", count)
			}
			for _, r := range got.records {
				if r.Reason == ReasonCancelAfter && name == "tokens" && len(r.Events) > 60 {
					t.Errorf("stopped after %d events", len(r.Events))
				}
			}
		})
	}
}

// A target that refuses: every request is a record, none is sent twice.
func TestRefusedIsCountedOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, got := load(t, Config{
		Target: "http://" + l.Addr().String() + "/v1", Phases: []Phase{{Name: "p", Arrivals: KindConstant, Rate: 50, Duration: 500 * time.Millisecond}},
		Scenarios: plain,
	})
	if c := got.outcomes(); c["error_early refused"] != 25 || len(got.records) != 25 {
		t.Errorf("%v", c)
	}
}

// What cannot be asked at all is an error, not a thousand records.
func TestNothingToAsk(t *testing.T) {
	_, err := Run(t.Context(), Config{Target: "ftp://x", Scenarios: plain, Phases: []Phase{{Name: "p", Rate: 1000, Duration: time.Minute}}})
	if err == nil {
		t.Error("no error")
	}
}
