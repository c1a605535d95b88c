package judge_test

import (
	"fmt"
	"slices"
	"testing"

	"weir/judge"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

func TestGatesFigures(t *testing.T) {
	g := gate(t, "ttft", "p95 < 2s", "p95 < 1s", "p50 < 1s")
	in := g["ttft"][0]
	in.Phase = "peak"
	g["ttft"] = append(g["ttft"], in)
	g["decision"] = gate(t, "x", "share >= 90%")["x"]
	g["rate"] = gate(t, "x", "value >= 3")["x"]
	g["dropped"] = gate(t, "x", "<= 1%")["x"]
	g["nonsense"] = gate(t, "x", "p95 < 1s")["x"]
	got := g.Figures("plain", judge.Names{Marks: []string{"decision"}})
	want := []judge.Figure{
		{Metric: "mark.decision", Stat: "share", Scenario: "plain"},
		{Metric: "dropped", Stat: "share", Scenario: "plain"},
		{Metric: "rate", Scenario: "plain"},
		{Metric: "ttft", Stat: "p95", Scenario: "plain"},
		{Metric: "ttft", Stat: "p50", Scenario: "plain"},
		{Metric: "ttft", Stat: "p95", Scenario: "plain", Phase: "peak"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestWholeRun: the figures by scenario and phase, and that a comparison takes
// them.
func TestWholeRun(t *testing.T) {
	var records []*stream.Record
	for i := range 12 {
		r := used(i, 100, 0, 50)
		r.Labels = map[string]string{"phase": [2]string{"calm", "peak"}[i/8], "scenario": [2]string{"plain", "tool"}[i%2]}
		records = append(records, r)
	}
	in := judge.Input{Rows: table.Rows(records), Span: map[string]float64{"calm": 4, "peak": 1}}
	got := judge.WholeRun(in)
	for f, want := range map[judge.Figure]float64{
		{Metric: "rate"}:                                     2.4,
		{Metric: "rate", Phase: "calm"}:                      2,
		{Metric: "rate", Phase: "peak"}:                      4,
		{Metric: "rate", Phase: "peak", Scenario: "tool"}:    2,
		{Metric: "system_tps", Scenario: "plain"}:            60,
		{Metric: "tokens_per_request", Phase: "calm"}:        50,
		{Metric: "tool_calls_per_request", Scenario: "tool"}: 0,
	} {
		if v, ok := got[f].Get(); !ok || v != want {
			t.Errorf("%+v: %+v, want %v", f, got[f], want)
		}
	}
	if _, ok := got[judge.Figure{Metric: "cost_per_request"}]; ok {
		t.Error("a cost without prices")
	}
	side := func(name string, scale float64) judge.Side {
		s := judge.Side{Name: name}
		for i := range 4 {
			figures := map[judge.Figure]stat.Point{}
			for f, p := range got {
				figures[f] = stat.Point{V: p.V*scale + float64(i)/100, Is: p.Is}
			}
			s.Runs = append(s.Runs, judge.RunFigures{ID: fmt.Sprint(name, i), Valid: "valid", Rows: in.Rows, Figures: figures})
		}
		return s
	}
	c, err := judge.Compare(side("A", 1), side("B", 0.5), judge.CompareOptions{Gated: gate(t, "rate", ">= 1").Figures("", judge.Names{})})
	if err != nil || c.Verdict != judge.Slower {
		t.Errorf("half the rate: %v, %v", c.Verdict, err)
	}
	in.Span = map[string]float64{"calm": 4}
	if p, ok := judge.WholeRun(in)[judge.Figure{Metric: "rate"}]; ok {
		t.Errorf("the time of one phase is unknown, and the rate over all is %+v", p)
	}
}
