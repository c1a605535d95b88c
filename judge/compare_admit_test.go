package judge_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"weir/judge"
	"weir/metric"
)

// pair is two sides of four runs each that are alike in every way.
func pair() (a, b judge.Side) {
	a, b = side("before", ttft50, 400, 402, 404, 406), side("after", ttft50, 401, 402, 403, 404)
	start := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for i := range 4 {
		for j, r := range []*judge.RunFigures{&a.Runs[i], &b.Runs[i]} {
			r.Start = start.Add(time.Duration(2*i+j) * time.Minute)
			r.Config = map[string]string{"target": "http://a", "model": "m1", "prompt": "sha256:1", "load": "20/s"}
		}
	}
	return a, b
}

func TestCompareRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a, b *judge.Side, o *judge.CompareOptions)
		want   []string // in the error
	}{
		"no runs":        {func(a, _ *judge.Side, _ *judge.CompareOptions) { a.Runs = nil }, []string{"side A (before) has no runs"}},
		"invalid":        {func(_, b *judge.Side, _ *judge.CompareOptions) { b.Runs[2].Valid = "invalid" }, []string{"after2", "B (after)", "invalid"}},
		"partial":        {func(_, b *judge.Side, _ *judge.CompareOptions) { b.Runs[1].Partial = true }, []string{"after1", "cut short"}},
		"unknown health": {func(a, _ *judge.Side, _ *judge.CompareOptions) { a.Runs[0].Valid = "fine" }, []string{`"fine"`, "valid, suspect, invalid"}},
		"a run twice":    {func(a, b *judge.Side, _ *judge.CompareOptions) { b.Runs[3] = a.Runs[0] }, []string{"before0", "twice"}},
		"another model": {func(_, b *judge.Side, _ *judge.CompareOptions) { setAll(b, "model", "m2") },
			[]string{`model is "m1" in run before0 of A and "m2" in run after0 of B`, "vary"}},
		"two keys": {func(_, b *judge.Side, _ *judge.CompareOptions) { setAll(b, "model", "m2"); setAll(b, "load", "30/s") },
			[]string{`load is "20/s"`, `model is "m1"`}},
		"not all of a side": {func(_, b *judge.Side, o *judge.CompareOptions) {
			b.Runs[3].Config["model"] = "m2"
			o.Vary = []string{"model"}
		},
			[]string{`model is "m1" in run after0 of B and "m2" in run after3 of B`, "within a side"}},
		"one run does not say": {func(_, b *judge.Side, _ *judge.CompareOptions) { delete(b.Runs[0].Config, "load") }, []string{"load is", "not given"}},
		"a long value is cut": {func(_, b *judge.Side, _ *judge.CompareOptions) { setAll(b, "prompt", strings.Repeat("长", 500)) },
			[]string{strings.Repeat("长", 60) + `"…`}},
		"unknown vary": {func(_, _ *judge.Side, o *judge.CompareOptions) { o.Vary = []string{"modle"} }, []string{`"modle"`, "load, model, prompt, target"}},
		"unknown metric": {func(_, _ *judge.Side, o *judge.CompareOptions) {
			o.Gated = []judge.Figure{{Metric: "tfft", Stat: "p50"}}
		}, []string{`"tfft"`}},
		"unknown stat": {func(_, _ *judge.Side, o *judge.CompareOptions) {
			o.Gated = []judge.Figure{{Metric: "ttft", Stat: "p42"}}
		}, []string{`"p42"`, "p50, p90"}},
		"unknown share": {func(_, _ *judge.Side, o *judge.CompareOptions) {
			o.Gated = []judge.Figure{{Metric: "lost", Stat: "share"}}
		}, []string{`"lost"`, "outcome"}},
		"stat of a whole": {func(_, _ *judge.Side, o *judge.CompareOptions) {
			o.Gated = []judge.Figure{{Metric: "rate", Stat: "p50"}}
		}, []string{"whole run"}},
		"no quality": {func(_, _ *judge.Side, o *judge.CompareOptions) {
			o.Gated = []judge.Figure{{Metric: "gap0_p50", Stat: "p50"}}
		}, []string{"neither"}},
		"margin": {func(_, _ *judge.Side, o *judge.CompareOptions) { o.Margin = 5 }, []string{"margin 5", "0.05"}},
		"floor":  {func(_, _ *judge.Side, o *judge.CompareOptions) { o.Floors = map[string]float64{"ms": math.NaN()} }, []string{"ms", "NaN"}},
	} {
		a, b := pair()
		o := only(ttft50)
		c.change(&a, &b, &o)
		got, err := judge.Compare(a, b, o)
		if err == nil {
			t.Errorf("%s: accepted: %+v", name, got)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
	}
}

func setAll(s *judge.Side, key, value string) {
	for i := range s.Runs {
		s.Runs[i].Config[key] = value
	}
}

func TestUnlikeError(t *testing.T) {
	a, b := pair()
	setAll(&b, "model", "m2")
	_, err := judge.Compare(a, b, only(ttft50))
	var unlike *judge.UnlikeError
	if !errors.As(err, &unlike) || len(unlike.Differences) != 1 || unlike.Differences[0].Key != "model" || unlike.Differences[0].SameSide {
		t.Fatalf("got %#v", err)
	}
}

func TestCompareVaried(t *testing.T) {
	a, b := pair()
	setAll(&b, "model", "m2")
	o := only(ttft50)
	o.Vary = []string{"model"}
	c := compare(t, a, b, o)
	if c.A.Varied["model"] != "m1" || c.B.Varied["model"] != "m2" || len(c.Warnings) != 0 {
		t.Errorf("got %+v", c)
	}
}

// TestCompareWarns: what a reader must know, each said once and only then.
func TestCompareWarns(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a, b *judge.Side)
		want   string
	}{
		"suspect":     {func(_, b *judge.Side) { b.Runs[1].Valid = "suspect" }, "suspect in 1 run of side B (after): after1"},
		"unknown":     {func(a, _ *judge.Side) { a.Runs[0].Valid = "" }, "1 run of side A (before)"},
		"equal":       {func(_, b *judge.Side) { setAll(b, "model", "m1") }, "nothing that was recorded differs"},
		"one by one":  {func(a, b *judge.Side) { later(b, time.Hour) }, "not interleaved"},
		"before":      {func(a, b *judge.Side) { later(a, time.Hour) }, "not interleaved"},
		"warm":        {func(a, b *judge.Side) { setAll(a, "cache", "warm"); setAll(b, "cache", "warm") }, "prompt cache"},
		"too few":     {func(a, b *judge.Side) { b.Runs = b.Runs[:3] }, "4 runs of A and 3 runs of B"},
		"all is well": {func(*judge.Side, *judge.Side) {}, ""},
	} {
		a, b := pair()
		setAll(&b, "model", "m2")
		c.change(&a, &b)
		o := only(ttft50)
		o.Vary = []string{"model"}
		got := compare(t, a, b, o).Warnings
		if c.want == "" && len(got) != 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: warnings %q, want %q", name, got, c.want)
		}
	}
}

func later(s *judge.Side, d time.Duration) {
	for i := range s.Runs {
		s.Runs[i].Start = s.Runs[i].Start.Add(d)
	}
}

func TestCompareGivenFigure(t *testing.T) {
	cost := judge.Figure{Metric: "euros_per_answer"}
	a, b := side("a", cost, 1, 1.1, 1.2, 1.3), side("b", cost, 2, 2.1, 2.2, 2.3)
	o := only(cost)
	if _, err := judge.Compare(a, b, o); err == nil || !strings.Contains(err.Error(), "say which") {
		t.Errorf("a figure of unknown direction: %v", err)
	}
	o.Better = map[judge.Figure]metric.Direction{cost: metric.Lower}
	if v := compare(t, a, b, o).Figures[0]; v.Verdict != judge.Slower {
		t.Errorf("got %+v", v)
	}
}

func TestNeedRuns(t *testing.T) {
	// METRICS: 4 runs a side bear 1 figure, 5 bear 6, 6 bear 23, 7 bear 85.
	for k, m := range map[int]int{1: 0, 2: 0, 3: 0, 4: 1, 5: 6, 6: 23, 7: 85} {
		if got := judge.MaxFigures(k); got != m {
			t.Errorf("MaxFigures(%d) = %d, want %d", k, got, m)
		}
		if m > 0 && (judge.NeedRuns(m) != k || judge.NeedRuns(m+1) != k+1) {
			t.Errorf("NeedRuns(%d) = %d, NeedRuns(%d) = %d", m, judge.NeedRuns(m), m+1, judge.NeedRuns(m+1))
		}
		if m > 0 && (!judge.CanConvict(k, m) || judge.CanConvict(k, m+1)) {
			t.Errorf("CanConvict(%d, …)", k)
		}
	}
	if judge.Forewarn(5, 6) != "" || !strings.Contains(judge.Forewarn(5, 7), "6 runs a side are needed") {
		t.Errorf("Forewarn: %q, %q", judge.Forewarn(5, 6), judge.Forewarn(5, 7))
	}
	if judge.CanConvict(3, 0) || !judge.CanConvict(4, 0) {
		t.Error("no figures must count as one")
	}
}
