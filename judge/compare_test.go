package judge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/judge"
	"weir/metric"
	"weir/stat"
)

var (
	ttft50   = judge.Figure{Metric: "ttft", Stat: "p50"}
	complete = judge.Figure{Metric: "complete", Stat: "share"}
	rate50   = judge.Figure{Metric: "rate_e2e", Stat: "p50"}

	never = math.Inf(1) // in the tables below: the run's figure never came
)

// side is runs that have one figure, one run for each value; NaN is missing.
func side(name string, f judge.Figure, values ...float64) judge.Side {
	s := judge.Side{Name: name}
	for i, v := range values {
		p := stat.Point{V: v, Is: stat.Exact}
		switch {
		case math.IsInf(v, 1):
			p = stat.Point{Is: stat.IsNever}
		case math.IsNaN(v):
			p = stat.Point{Is: stat.NotGiven}
		}
		s.Runs = append(s.Runs, judge.RunFigures{
			ID: fmt.Sprint(name, i), Valid: "valid", Figures: map[judge.Figure]stat.Point{f: p},
		})
	}
	return s
}

// only gates one figure and shows nothing else.
func only(f judge.Figure) judge.CompareOptions {
	return judge.CompareOptions{Gated: []judge.Figure{f}, Beside: []judge.Figure{}}
}

// TestCompareVerdicts: one gated figure, verdicts by hand. With m = 1, 4 runs a
// side are enough if the sides do not overlap (p = 2/70).
func TestCompareVerdicts(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name string
		f    judge.Figure
		a, b []float64
		want string
		why  string // in the reason
	}{
		{"slower", ttft50, []float64{400, 402, 404, 406}, []float64{500, 502, 504, 506}, judge.Slower, "worse by more than the margin"},
		{"faster", ttft50, []float64{500, 502, 504, 506}, []float64{400, 402, 404, 406}, judge.Faster, "better by more than the margin"},
		{"significant, within the margin of 5 %", ttft50, []float64{400, 402, 404, 406}, []float64{410, 411, 412, 413}, judge.Same, "inside the margin"},
		{"significant, margin inside the interval", ttft50, []float64{400, 402, 404, 406}, []float64{412, 416, 425, 430}, judge.NoEvidence, "not beyond the margin"},
		{"not apart, and wide", ttft50, []float64{400, 450, 500, 550}, []float64{420, 470, 520, 570}, judge.NoEvidence, "do not tell"},
		{"not apart, and narrow", ttft50, []float64{400, 401, 402, 403}, []float64{400, 401, 402, 403}, judge.Same, "inside the margin"},
		// The floor of 5 ms is more than 5 % of 20 ms: 4 ms is no difference.
		{"within the floor", ttft50, []float64{20, 20.1, 20.2, 20.3}, []float64{24, 24.1, 24.2, 24.3}, judge.Same, ""},
		{"beyond the floor", ttft50, []float64{20, 20.1, 20.2, 20.3}, []float64{26, 26.1, 26.2, 26.3}, judge.Slower, ""},
		// Of a rate more is better: fewer tokens a second are slower.
		{"lower rate", rate50, []float64{40, 41, 42, 43}, []float64{30, 31, 32, 33}, judge.Slower, "worse"},
		{"higher rate", rate50, []float64{30, 31, 32, 33}, []float64{40, 41, 42, 43}, judge.Faster, "better"},
		{"fewer complete", complete, []float64{0.99, 0.991, 0.992, 0.993}, []float64{0.9, 0.901, 0.902, 0.903}, judge.Slower, "worse"},
		{"all complete", complete, []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, judge.Same, ""},
		// Never ranks last, tied: no shift, the ranks decide.
		{"B never", ttft50, []float64{400, 402, 404, 406}, []float64{never, never, never, never}, judge.Slower, "by ranks"},
		{"B partly never", ttft50, []float64{400, 402, 404, 406}, []float64{407, 408, never, never}, judge.Slower, "by ranks"},
		{"A never", ttft50, []float64{never, never, never, never}, []float64{400, 402, 404, 406}, judge.Faster, "by ranks"},
		{"both never", ttft50, []float64{never, never, never, never}, []float64{never, never, never, never}, judge.NoEvidence, "never came"},
		{"a gated figure is missing in a run", ttft50, []float64{400, 402, 404, 406}, []float64{500, 502, 504, nan}, judge.NoEvidence, "missing in 0 runs of A and 1 run of B"},
		{"a gated figure that nothing has", ttft50, []float64{nan, nan, nan, nan}, []float64{nan, nan, nan, nan}, judge.NoEvidence, "no run has it"},
		{"3 v 3 cannot convict", ttft50, []float64{400, 402, 404}, []float64{500, 502, 504}, judge.NoEvidence, ""},
		{"3 v 3 can be the same", ttft50, []float64{400, 402, 404}, []float64{401, 402, 403}, judge.Same, ""},
	} {
		got := compare(t, side("a", c.f, c.a...), side("b", c.f, c.b...), only(c.f))
		v := got.Figures[0]
		if v.Verdict != c.want || got.Verdict != c.want || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: got %s (overall %s): %s; want %s: %s", c.name, v.Verdict, got.Verdict, v.Why, c.want, c.why)
		}
		if got.Regressed() != (c.want == judge.Slower) {
			t.Errorf("%s: Regressed() = %v", c.name, got.Regressed())
		}
		sized := !slices.ContainsFunc(slices.Concat(c.a, c.b), func(x float64) bool { return math.IsInf(x, 0) || math.IsNaN(x) })
		if (v.Shift != nil) != sized {
			t.Errorf("%s: shift %v", c.name, v.Shift)
		}
	}
}

// TestCompareNeverInTheOtherSide: ten runs a side that differ by 2 %, beyond
// doubt. One run of A never came: that B is slower than the rest of A is still a
// trifle within the margin.
func TestCompareNeverInTheOtherSide(t *testing.T) {
	var a, b []float64
	for i := range 10 {
		a, b = append(a, 400+float64(i)/10), append(b, 408+float64(i)/10)
	}
	a[9] = never
	c := compare(t, side("a", ttft50, a...), side("b", ttft50, b...), only(ttft50))
	if v := c.Figures[0]; *v.PHolm > 0.05 || v.Verdict != judge.NoEvidence || !strings.Contains(v.Why, "less than the margin") {
		t.Errorf("got %s, Holm p %v: %s", v.Verdict, *v.PHolm, v.Why)
	}
	for i := range b {
		b[i] += 92 // 25 % slower: the one run of A does not hide it
	}
	c = compare(t, side("a", ttft50, a...), side("b", ttft50, b...), only(ttft50))
	if v := c.Figures[0]; v.Verdict != judge.Slower || v.Shift != nil {
		t.Errorf("got %s, shift %v: %s", v.Verdict, v.Shift, v.Why)
	}
}

// TestCompareNumbers checks every number of one verdict by hand.
func TestCompareNumbers(t *testing.T) {
	a, b := []float64{400, 410, 420, 430, 440}, []float64{500, 505, 520, 530, 540}
	c := compare(t, side("a", ttft50, a...), side("b", ttft50, b...), only(ttft50))
	v := c.Figures[0]
	check := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-9 {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	check("u", v.U, 25)
	check("P(B > A)", v.BGreater, 1)
	check("p", v.P, 2.0/252)
	check("Holm p", v.PHolm, 2.0/252)
	check("shift", v.Shift, 100)
	check("shift of a", v.Relative, 100.0/420)
	check("margin", v.Margin, 21)
	check("median A", v.A.Median, 420)
	check("median B", v.B.Median, 520)
	// Of the 25 differences the third from either end: P(U ≤ 2) = 4/252 ≤ 0.025.
	if v.Interval == nil || *v.Interval != (judge.Bounds{70, 130}) {
		t.Errorf("interval %v", v.Interval)
	}
	// At 90 % the fifth (P(U ≤ 4) = 12/252 ≤ 0.05).
	if v.Inner == nil || *v.Inner != (judge.Bounds{80, 120}) {
		t.Errorf("90 %% interval %v", v.Inner)
	}
	if v.Unit != "ms" || v.Better != "lower" || !v.Exact || !v.Family || v.A.N != 5 || v.B.N != 5 {
		t.Errorf("got %+v", v)
	}
	if c.Family != "gated" || c.M != 1 || c.Need != 4 || !c.Convicts {
		t.Errorf("got %+v", c)
	}
	// The same with more being better: shift and interval keep the figure's sign.
	v = compare(t, side("a", rate50, b...), side("b", rate50, a...), only(rate50)).Figures[0]
	check("u", v.U, 0)
	check("P(B > A)", v.BGreater, 0)
	check("shift", v.Shift, -100)
	if *v.Interval != (judge.Bounds{-130, -70}) || v.Better != "higher" || v.Verdict != judge.Slower {
		t.Errorf("got %+v", v)
	}
}

// TestCompareFamily: of four gated figures one differs. Its p is multiplied by
// four; 4 runs a side can no longer convict, 5 can.
func TestCompareFamily(t *testing.T) {
	sides := func(k int) (a, b judge.Side) {
		a, b = judge.Side{Name: "a"}, judge.Side{Name: "b"}
		for i := range k {
			x := float64(i)
			a.Runs = append(a.Runs, headlineRun(fmt.Sprint("a", i), 400+x, 900+x, 60+x, 0.99))
			b.Runs = append(b.Runs, headlineRun(fmt.Sprint("b", i), 500+x, 900+x, 60+x, 0.99))
		}
		return a, b
	}
	a, b := sides(5)
	c := compare(t, a, b, judge.CompareOptions{})
	if c.Family != "headline" || c.M != 4 || c.Need != 5 || !c.Convicts || c.Verdict != judge.Slower {
		t.Errorf("5 v 5: %+v", c)
	}
	if p := *c.Figures[0].PHolm; math.Abs(p-8.0/252) > 1e-12 {
		t.Errorf("5 v 5: Holm p = %v, want 4·2/252", p)
	}
	for _, v := range c.Figures[1:4] {
		if v.Verdict != judge.Same || !v.Family {
			t.Errorf("%s: %s", v.Figure, v.Verdict)
		}
	}
	a, b = sides(4)
	c = compare(t, a, b, judge.CompareOptions{})
	if c.Convicts || c.Verdict != judge.NoEvidence || c.Regressed() || len(c.Warnings) == 0 || !strings.Contains(c.Warnings[0], "5 runs a side are needed") {
		t.Errorf("4 v 4: %+v", c)
	}
	if v := c.Figures[0]; v.Verdict != judge.NoEvidence || v.Leans != judge.Slower {
		t.Errorf("4 v 4: %s, leans %q: %s", v.Verdict, v.Leans, v.Why)
	}
	for _, r := range b.Runs {
		r.Figures[ttft50] = stat.Point{Is: stat.IsNever}
	}
	if v := compare(t, a, b, judge.CompareOptions{}).Figures[0]; v.Verdict != judge.NoEvidence || v.Leans != judge.Slower {
		t.Errorf("4 v 4, B never: %s, leans %q: %s", v.Verdict, v.Leans, v.Why)
	}
}

func headlineRun(id string, values ...float64) judge.RunFigures {
	r := judge.RunFigures{ID: id, Valid: "valid", Figures: map[judge.Figure]stat.Point{}}
	for i, f := range judge.Headline {
		r.Figures[f] = stat.Point{V: values[i], Is: stat.Exact}
	}
	return r
}

// TestCompareBeside: what is not of the family is shown, leans, and convicts
// nobody, however clear it is.
func TestCompareBeside(t *testing.T) {
	a, b := side("a", ttft50, 400, 401, 402, 403, 404), side("b", ttft50, 400, 401, 402, 403, 404)
	for i := range 5 {
		a.Runs[i].Figures[rate50] = stat.Point{V: 40 + float64(i), Is: stat.Exact}
		b.Runs[i].Figures[rate50] = stat.Point{V: 20 + float64(i), Is: stat.Exact}
	}
	c := compare(t, a, b, judge.CompareOptions{Gated: []judge.Figure{ttft50}})
	if len(c.Figures) != 2 || c.Verdict != judge.Same {
		t.Fatalf("got %s, %d figures", c.Verdict, len(c.Figures))
	}
	if v := c.Figures[1]; v.Figure != rate50 || v.Family || v.Verdict != judge.NoEvidence || v.Leans != judge.Slower || v.PHolm != nil || v.P == nil {
		t.Errorf("got %+v", v)
	}
}

func TestCompareOverRanksLast(t *testing.T) {
	a, b := side("a", ttft50, 400, 402, 404, 406), side("b", ttft50, 500, 502, 504, 506)
	b.Runs[0].Figures[ttft50] = stat.Point{V: 300, Is: stat.OverLow} // it was cut at 300 ms: it took longer
	v := compare(t, a, b, only(ttft50)).Figures[0]
	if v.Verdict != judge.Slower || v.Shift != nil || v.B.Never != 1 || v.B.Runs[0].Value != nil || v.B.Runs[0].Is != stat.OverLow {
		t.Errorf("got %+v", v)
	}
}

func TestCompareOptionsChange(t *testing.T) {
	a, b := []float64{400, 402, 404, 406}, []float64{410, 411, 412, 413}
	verdict := func(change func(*judge.CompareOptions)) string {
		o := only(ttft50)
		change(&o)
		return compare(t, side("a", ttft50, a...), side("b", ttft50, b...), o).Verdict
	}
	for name, c := range map[string]struct {
		change func(*judge.CompareOptions)
		want   string
	}{
		"default":               {func(*judge.CompareOptions) {}, judge.Same},
		"margin 1 %, floor 5":   {func(o *judge.CompareOptions) { o.Margin = 0.01 }, judge.Slower},
		"margin 1 %, floor 100": {func(o *judge.CompareOptions) { o.Margin = 0.01; o.Floors = map[string]float64{"ms": 100} }, judge.Same},
		"more is better": {func(o *judge.CompareOptions) {
			o.Margin, o.Better = 0.01, map[judge.Figure]metric.Direction{ttft50: metric.Higher}
		}, judge.Faster},
	} {
		if got := verdict(c.change); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestComparisonJSON holds the keys that programs read.
func TestComparisonJSON(t *testing.T) {
	c := compare(t, side("a", ttft50, 400, 402, 404, 406), side("b", ttft50, 500, never, 504, 506), only(ttft50))
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(out, &top); err != nil {
		t.Fatal(err)
	}
	keys(t, top, "a", "b", "vary", "verdict", "family", "m", "alpha", "runs_needed", "can_convict", "figures", "warnings")
	keys(t, top["a"].(map[string]any), "name", "n", "runs", "varied")
	v := top["figures"].([]any)[0].(map[string]any)
	keys(t, v, "metric", "stat", "unit", "better", "family", "a", "b", "u", "p_b_greater", "p", "p_holm", "p_exact",
		"shift", "shift_of_a", "margin", "interval", "interval_90", "bootstrap_95", "verdict", "leans", "why")
	keys(t, v["b"].(map[string]any), "n", "missing", "never", "median", "runs")
	if v["shift"] != nil || v["interval"] != nil || v["verdict"] != "slower" || v["margin"] == nil {
		t.Errorf("got %s", out)
	}
}

func keys(t *testing.T, got map[string]any, want ...string) {
	t.Helper()
	for _, k := range want {
		if _, ok := got[k]; !ok {
			t.Errorf("no key %q in %v", k, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}
