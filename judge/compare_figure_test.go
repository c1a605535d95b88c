package judge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weir/judge"
	"weir/stream"
	"weir/table"
)

// answer is one record: text at each of the times (ms since t0), then the
// outcome.
func answer(i int, outcome stream.Outcome, at ...float64) *stream.Record {
	r := &stream.Record{
		RequestID: fmt.Sprint(i), Index: i, Choices: 1, Streamed: true, Outcome: outcome,
		Start:  time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 50 * time.Millisecond),
		Labels: map[string]string{"scenario": "plain", "phase": "peak"},
		End:    stream.Some(10 * time.Second),
	}
	for n, ms := range at {
		when := time.Duration(ms * 1e6)
		r.Arrivals = append(r.Arrivals, stream.Arrival{At: when, Bytes: 10, Reads: 1})
		r.Events = append(r.Events, stream.Event{
			Kind: stream.KindText, At: when, Arrival: n + 1, Seq: n + 1,
			Chars: stream.Some(4), Visible: stream.Some(4), Wide: stream.Some(0),
		})
	}
	return r
}

// runOf is one run of 100 answers whose ttft is 1 to 100 ms times scale, the
// last few of which failed before they spoke, or were cut by us.
func runOf(id string, scale float64, failed, cut int) judge.RunFigures {
	var records []*stream.Record
	for i := range 100 {
		first := float64(i+1) * scale
		switch {
		case i >= 100-failed:
			records = append(records, answer(i, stream.ErrorEarly))
		case i >= 100-failed-cut:
			records = append(records, answer(i, stream.Hung))
		default:
			records = append(records, answer(i, stream.Complete, first, first+20, first+60))
		}
	}
	return judge.RunFigures{ID: id, Valid: "valid", Rows: table.Rows(records)}
}

// figureOf is the figure of one run, by comparing the run with a copy of it.
func figureOf(t *testing.T, r judge.RunFigures, f judge.Figure) judge.RunValue {
	t.Helper()
	other := r
	other.ID = r.ID + "'"
	c := compare(t, judge.Side{Runs: []judge.RunFigures{r}}, judge.Side{Runs: []judge.RunFigures{other}}, only(f))
	return c.Figures[0].A.Runs[0]
}

func TestFigureOfRows(t *testing.T) {
	for _, c := range []struct {
		f           judge.Figure
		failed, cut int
		want        float64 // NaN where not exact
		is          string
	}{
		{judge.Figure{Metric: "ttft", Stat: "p50"}, 0, 0, 50, "exact"},
		{judge.Figure{Metric: "ttft", Stat: "p95"}, 0, 0, 95, "exact"},
		{judge.Figure{Metric: "ttft", Stat: "max"}, 0, 0, 100, "exact"},
		{judge.Figure{Metric: "ttft", Stat: "mean"}, 0, 0, 50.5, "exact"},
		// p99 needs 368 answers.
		{judge.Figure{Metric: "ttft", Stat: "p99"}, 0, 0, math.NaN(), "na"},
		// What failed is slower than any that spoke; what we cut is over.
		{judge.Figure{Metric: "ttft", Stat: "p95"}, 6, 0, math.NaN(), "never"},
		{judge.Figure{Metric: "ttft", Stat: "p95"}, 0, 6, math.NaN(), "over"},
		{judge.Figure{Metric: "ttft", Stat: "p95"}, 5, 0, 95, "exact"},
		{judge.Figure{Metric: "ttft", Stat: "mean"}, 1, 0, math.NaN(), "never"},
		{judge.Figure{Metric: "ttft", Stat: "mean"}, 0, 1, math.NaN(), "over"},
		{judge.Figure{Metric: "gap_max", Stat: "p50"}, 0, 0, 40, "exact"},
		{judge.Figure{Metric: "complete", Stat: "share"}, 6, 4, 0.9, "exact"},
		{judge.Figure{Metric: "ttft", Stat: "share"}, 6, 4, 0.9, "exact"},
		{judge.Figure{Metric: "error_early", Stat: "share"}, 6, 4, 0.06, "exact"},
		{judge.Figure{Metric: "broken_share", Stat: "share"}, 6, 4, 0.04, "exact"},
		{judge.Figure{Metric: "useful", Stat: "p50"}, 0, 0, math.NaN(), "na"},
		{judge.Figure{Metric: "ttft", Stat: "p50", Scenario: "plain", Phase: "peak"}, 0, 0, 50, "exact"},
		{judge.Figure{Metric: "ttft", Stat: "p50", Scenario: "other"}, 0, 0, math.NaN(), "na"},
		{judge.Figure{Metric: "ttft", Stat: "p50", Phase: "other"}, 0, 0, math.NaN(), "na"},
	} {
		got := figureOf(t, runOf("r", 1, c.failed, c.cut), c.f)
		if string(got.Is) != c.is || (got.Value == nil) != math.IsNaN(c.want) || got.Value != nil && math.Abs(*got.Value-c.want) > 1e-9 {
			t.Errorf("%s, %d failed, %d cut: got %v %s, want %v %s", c.f, c.failed, c.cut, got.Value, got.Is, c.want, c.is)
		}
	}
}

// TestFigureLeavesOut: warm-up and other paths are no part of a figure.
func TestFigureLeavesOut(t *testing.T) {
	r := runOf("r", 1, 0, 0)
	for i := range 50 {
		slow := answer(1000+i, stream.Complete, 5000)
		slow.Labels["warmup"] = "true"
		other := answer(2000+i, stream.Complete, 5000)
		other.Hop = "direct"
		r.Rows = append(r.Rows, table.Rows([]*stream.Record{slow, other})...)
	}
	if got := figureOf(t, r, judge.Figure{Metric: "ttft", Stat: "max"}); got.Value == nil || *got.Value != 100 {
		t.Errorf("got %v", got)
	}
}

func TestFigureOfMark(t *testing.T) {
	var records []*stream.Record
	for i := range 20 {
		r := answer(i, stream.Complete, 10, 20)
		r.Marks = []string{"fields_complete"}
		if i < 15 {
			r.Events[1].Marks = []string{"fields_complete"}
		}
		records = append(records, r)
	}
	run := judge.RunFigures{ID: "r", Rows: table.Rows(records)}
	for _, name := range []string{"fields_complete", "mark.fields_complete"} {
		if got := figureOf(t, run, judge.Figure{Metric: name, Stat: "share"}); got.Value == nil || *got.Value != 0.75 {
			t.Errorf("%s: %v %s", name, got.Value, got.Is)
		}
	}
	c := compare(t, judge.Side{Runs: []judge.RunFigures{run}}, judge.Side{Runs: []judge.RunFigures{{ID: "s", Rows: run.Rows}}},
		only(judge.Figure{Metric: "fields_complete", Stat: "p50"}))
	if v := c.Figures[0]; v.Unit != "ms" || v.Better != "lower" || *v.A.Median != 20 {
		t.Errorf("got %s %s, median %v", v.Unit, v.Better, v.A.Median)
	}
}

// TestCompareOneRunASide: one run against one convicts nobody, though the
// difference is a factor of two; the bootstrap says which way it leans.
func TestCompareOneRunASide(t *testing.T) {
	a, b := spread("a", 1), spread("b", 2)
	c := compare(t, judge.Side{Runs: []judge.RunFigures{a}}, judge.Side{Runs: []judge.RunFigures{b}}, judge.CompareOptions{})
	if c.Convicts || c.Verdict != judge.NoEvidence || c.Regressed() {
		t.Errorf("got %+v", c)
	}
	v := c.Figures[0]
	if v.Drawn == nil || v.Interval != nil || v.Leans != judge.Slower || *v.P != 1 {
		t.Fatalf("ttft p50: drawn %v, interval %v, leans %q", v.Drawn, v.Interval, v.Leans)
	}
	if v.Drawn[0] > *v.Shift || v.Drawn[1] < *v.Shift {
		t.Errorf("shift %v outside of %v", *v.Shift, *v.Drawn)
	}
	if last := c.Figures[3]; last.Figure != complete || last.Leans != "" {
		t.Errorf("complete share, equal in both, leans %q", last.Leans)
	}
	again := compare(t, judge.Side{Runs: []judge.RunFigures{a}}, judge.Side{Runs: []judge.RunFigures{b}}, judge.CompareOptions{})
	if *again.Figures[0].Drawn != *v.Drawn {
		t.Error("the same runs gave another interval")
	}
}

// spread is a run of 400 answers in no order, ttft about 100 ms times scale.
func spread(id string, scale float64) judge.RunFigures {
	rng := rand.New(rand.NewPCG(uint64(len(id)), uint64(scale)))
	var records []*stream.Record
	for i := range 400 {
		first := scale * (60 + 80*rng.Float64())
		records = append(records, answer(i, stream.Complete, first, first+20, first+60))
	}
	return judge.RunFigures{ID: id, Valid: "valid", Rows: table.Rows(records)}
}

// TestCompareScenarios: with several scenarios the headline of each is shown
// beside, and what no run has is not.
func TestCompareScenarios(t *testing.T) {
	r := runOf("r", 1, 0, 0)
	for i := range r.Rows {
		if i%2 == 0 {
			r.Rows[i].Scenario = "tool"
		}
	}
	s := r
	s.ID = "s"
	c := compare(t, judge.Side{Runs: []judge.RunFigures{r}}, judge.Side{Runs: []judge.RunFigures{s}}, judge.CompareOptions{})
	has := func(f judge.Figure) bool {
		return slices.ContainsFunc(c.Figures, func(v judge.FigureVerdict) bool { return v.Figure == f })
	}
	for _, scenario := range []string{"tool", "plain"} {
		if !has(judge.Figure{Metric: "ttft", Stat: "p50", Scenario: scenario}) {
			t.Errorf("no ttft p50 of %s", scenario)
		}
	}
	if has(judge.Figure{Metric: "useful", Stat: "p50"}) {
		t.Error("useful, which no run has, is shown")
	}
	if c.M != 4 {
		t.Errorf("the family has %d figures, want 4", c.M)
	}
}
