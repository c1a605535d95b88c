package judge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/judge"
	"weir/stream"
	"weir/table"
)

// spoken are n complete answers whose ttft is 10, 20, … n·10 ms.
func spoken(n int) []*stream.Record {
	var out []*stream.Record
	for i := range n {
		out = append(out, answer(i, stream.Complete, float64(i+1)*10))
	}
	return out
}

// these are n answers of an outcome that never spoke.
func these(n int, o stream.Outcome) []*stream.Record {
	var out []*stream.Record
	for i := range n {
		r := answer(1000+i, o)
		r.RequestID = fmt.Sprint(o, i)
		out = append(out, r)
	}
	return out
}

// judged judges one condition over records and returns its result.
func judged(t testing.TB, records []*stream.Record, name, condition string) judge.GateResult {
	t.Helper()
	v := judge.Judge(judge.Input{Rows: table.Rows(records), Gates: gate(t, name, condition), Span: map[string]float64{"peak": 10}})
	if len(v.Gates) != 1 || len(v.Warnings) > 1 {
		t.Fatalf("got %+v", v)
	}
	return v.Gates[0]
}

// shown is a number, "null" where there is none.
func shown(f *float64) string {
	if f == nil {
		return "null"
	}
	return fmt.Sprintf("%.4g", *f)
}

// TestQuantileGates: exact, over, never and too few (METRICS §8.2, §8.5) on sets
// made by hand. An answer that was hung ended, unheard, at 10 s.
func TestQuantileGates(t *testing.T) {
	mixed := func(n, failed, hung int) []*stream.Record {
		return slices.Concat(spoken(n), these(failed, stream.ErrorEarly), these(hung, stream.Hung))
	}
	for _, c := range []struct {
		what      string
		records   []*stream.Record
		condition string
		verdict   string
		actual    string
		interval  bool
		why       string
	}{
		{"exact, kept", spoken(100), "p95 < 951ms", judge.Pass, "950", true, ""},
		{"exact, at the limit", spoken(100), "p95 <= 950ms", judge.Pass, "950", true, ""},
		{"exact, at the limit, strictly", spoken(100), "p95 < 950ms", judge.Fail, "950", true, "950ms is not < 950ms"},
		{"exact, not kept", spoken(100), "p95 < 0.9s", judge.Fail, "950", true, "950ms is not < 900ms"},
		{"p95 of 72", spoken(72), "p95 < 1s", judge.Pass, "690", true, ""},
		{"p95 of 71", spoken(71), "p95 < 10s", judge.Undecided, "null", false, "too few answers: 71, and the interval of this quantile needs 72"},
		{"p90 of 36", spoken(36), "p90 < 1s", judge.Pass, "330", true, ""},
		{"p90 of 35", spoken(35), "p90 < 1s", judge.Undecided, "null", false, "needs 36"},
		{"p99 of 367", spoken(367), "p99 < 10s", judge.Undecided, "null", false, "needs 368"},
		{"p50 of 6", spoken(6), "p50 < 1s", judge.Pass, "30", true, ""},
		{"p50 of 5: a value and no verdict", spoken(5), "p50 < 1s", judge.Undecided, "30", false, "too few answers: 5, and the interval of this quantile needs 6"},
		{"p50 of 2", spoken(2), "p50 < 1s", judge.Undecided, "null", false, "too few"},
		{"none", nil, "p50 < 1s", judge.Undecided, "null", false, "no request in phase peak"},
		{"the failed are last", mixed(96, 4, 0), "p95 < 951ms", judge.Pass, "950", false, ""},
		{"never", mixed(94, 6, 0), "p95 < 100s", judge.Fail, "null", false, "it never came in 6 of 100 answers, so that it has no value here"},
		{"never, the other way", mixed(94, 6, 0), "p95 > 1s", judge.Fail, "null", false, "it never came"},
		{"over a bound below the limit", mixed(94, 0, 6), "p95 < 100s", judge.Fail, "null", false, "only known to exceed 10s: 6 of 100 streams were cut before it came"},
		{"over a bound above the limit", mixed(94, 0, 6), "p95 < 5s", judge.Fail, "null", false, "only known to exceed 10s"},
		{"over, and that is asked", mixed(94, 0, 6), "p95 >= 10s", judge.Pass, "null", false, "it exceeds 10s"},
		{"over, and more is asked", mixed(94, 0, 6), "p95 > 11s", judge.Fail, "null", false, "only known to exceed 10s"},
		{"dropped counts as never", slices.Concat(spoken(94), these(6, stream.Dropped)), "p95 < 100s", judge.Fail, "null", false, "never"},
		{"max", spoken(3), "max <= 30ms", judge.Pass, "30", false, ""},
		{"max, never", mixed(99, 1, 0), "max < 100s", judge.Fail, "null", false, "never"},
		{"mean", spoken(3), "mean <= 20ms", judge.Pass, "20", false, ""},
		{"mean, one never", mixed(99, 1, 0), "mean < 100s", judge.Fail, "null", false, "never"},
		{"mean, one over", mixed(99, 0, 1), "mean < 100s", judge.Fail, "null", false, "only known to exceed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			g := judged(t, c.records, "ttft", c.condition)
			if g.Verdict != c.verdict || shown(g.Actual) != c.actual || !strings.Contains(g.Why, c.why) || c.why == "" && g.Why != "" {
				t.Errorf("got %s, actual %s, why %q; want %s, %s, %q", g.Verdict, shown(g.Actual), g.Why, c.verdict, c.actual, c.why)
			}
			if (g.Interval != nil) != c.interval {
				t.Errorf("interval %v, want one: %v", g.Interval, c.interval)
			}
			if g.Unit != "ms" || g.N != len(c.records) || g.Metric != "ttft" || g.Phase != "peak" {
				t.Errorf("got %+v", g)
			}
		})
	}
}

// TestScheduledGates: what the plan made a request wait counts.
func TestScheduledGates(t *testing.T) {
	records := spoken(100)
	for _, r := range records {
		r.Lateness = stream.Some(time.Second)
	}
	if g := judged(t, records, "ttft", "p95 < 2s"); shown(g.Actual) != "1950" {
		t.Errorf("ttft p95 is %s, want 1950 from schedule", shown(g.Actual))
	}
	if g := judged(t, records, "ttft_sent", "p95 < 2s"); shown(g.Actual) != "950" {
		t.Errorf("ttft_sent p95 is %s, want 950 from t0", shown(g.Actual))
	}
}

func TestShareGates(t *testing.T) {
	mixed := slices.Concat(spoken(96), these(1, stream.Reset), these(1, stream.Hung), these(1, stream.Gapped), these(1, stream.Dropped))
	for _, c := range []struct {
		name, condition, verdict, actual string
		n                                int
	}{
		{"complete", "share >= 96%", judge.Pass, "0.96", 100},
		{"complete", "share >= 96.1%", judge.Fail, "0.96", 100},
		{"dropped", "share <= 1%", judge.Pass, "0.01", 100},
		{"dropped", "share < 1%", judge.Fail, "0.01", 100},
		{"gapped", "<= 0", judge.Fail, "0.01", 100},
		{"truncated", "share <= 0%", judge.Pass, "0", 100},
		{"broken_share", "share <= 3%", judge.Pass, "0.0202", 99},       // of those sent
		{"silent_share_10s", "share <= 5%", judge.Pass, "0.0202", 99},   // hung and reset, to 10 s
		{"ttft", "share >= 96%", judge.Pass, "0.96", 100},               // reached
		{"rate_e2e", "share >= 50%", judge.Undecided, "null", 0},        // no tokens: it applies to none
		{"stall_rate", "mean < 0.5", judge.Undecided, "null", 0},        // one burst each: no gaps
		{"first_reasoning", "share >= 1%", judge.Fail, "0", 3 + 1 - 1},  // only those that failed count
		{"mark.nothing", "share >= 1%", judge.Undecided, "null", 0},     // not looked for
		{"fields_complete", "share >= 95%", judge.Undecided, "null", 0}, // not defined
		{"complete_sent", "share >= 97%", judge.Pass, "0.97", 100},      // gapped too: the metric's share
		{"system_tps", ">= 1", judge.Undecided, "null", 99},             // no tokens
		{"cost_per_request", "< 1", judge.Undecided, "null", 0},         // no prices
		{"tool_calls_per_request", "< 3", judge.Pass, "0", 99},          // dropped never asked
		{"tokens_per_request", "< 3", judge.Undecided, "null", 0},       // none says
		{"rate", ">= 9.7", judge.Pass, "9.7", 99},                       // complete and gapped in 10 s
		{"rate", "> 9.7", judge.Fail, "9.7", 99},                        //
		{"ttft", "p95 < 2", judge.Undecided, "null", 0},                 // Check would refuse it
	} {
		g := judged(t, mixed, c.name, c.condition)
		if g.Verdict != c.verdict || shown(g.Actual) != c.actual || g.N != c.n {
			t.Errorf("%s [%s]: got %s, actual %s, n %d, why %q; want %s, %s, %d",
				c.name, c.condition, g.Verdict, shown(g.Actual), g.N, g.Why, c.verdict, c.actual, c.n)
		}
		if g.Verdict != judge.Pass && g.Why == "" {
			t.Errorf("%s [%s]: %s without a why", c.name, c.condition, g.Verdict)
		}
	}
	g := judged(t, mixed, "complete", "share >= 96%")
	if g.Interval == nil || math.Abs(g.Interval[0]-0.9007) > 1e-4 || math.Abs(g.Interval[1]-0.9890) > 1e-4 {
		t.Errorf("interval of 96 in 100: %v", g.Interval)
	}
	if g := judged(t, spoken(1), "complete", "share >= 99%"); g.Verdict != judge.Pass {
		t.Errorf("shares are always decided, got %s of one", g.Verdict)
	}
}

// TestPredicateShares: a mark reached by the end of the answer counts; one that
// was looked for and not reached does not; where it was not looked for the
// answer is left out.
func TestPredicateShares(t *testing.T) {
	var records []*stream.Record
	for i := range 10 {
		r := answer(i, stream.Complete, 10, 20)
		switch {
		case i < 6:
			r.Marks, r.Events[1].Marks = []string{"tool_ok"}, []string{"tool_ok"}
		case i < 8:
			r.Marks = []string{"tool_ok"}
		}
		records = append(records, r)
	}
	cut, failed := answer(10, stream.Cancelled, 10), answer(11, stream.Reset, 10)
	cut.Marks, failed.Marks = []string{"tool_ok"}, []string{"tool_ok"}
	g := judged(t, append(records, cut, failed), "tool_ok", "share >= 60%")
	if g.N != 10 || shown(g.Actual) != "0.6" || g.Verdict != judge.Pass || g.Metric != "tool_ok" || g.Unit != "share" {
		t.Errorf("got %+v, actual %s", g, shown(g.Actual))
	}
}

func TestVerdictOverall(t *testing.T) {
	good, bad, few := gate(t, "ttft", "p95 < 10s"), gate(t, "ttft", "p95 < 1ms"), gate(t, "ttft", "p99 < 10s")
	rule := func(v string) []judge.RuleResult {
		return []judge.RuleResult{{Name: "r", Verdict: v, Unseen: []string{"x"}}}
	}
	for _, c := range []struct {
		what string
		in   judge.Input
		want string
	}{
		{"nothing asked", judge.Input{}, judge.Pass},
		{"kept", judge.Input{Gates: good, Health: "valid"}, judge.Pass},
		{"suspect stands", judge.Input{Gates: good, Health: "suspect"}, judge.Pass},
		{"invalid cannot pass", judge.Input{Gates: good, Health: "invalid"}, judge.Invalid},
		{"invalid is not failed either", judge.Input{Gates: bad, Health: "invalid"}, judge.Invalid},
		{"failed", judge.Input{Gates: bad}, judge.Fail},
		{"undecided", judge.Input{Gates: few}, judge.Undecided},
		{"undecided allowed", judge.Input{Gates: few, AllowUndecided: true}, judge.Pass},
		{"failed wins over undecided", judge.Input{Gates: few, ScenarioGates: map[string]judge.Gates{"plain": bad}}, judge.Fail},
		{"a failure is not allowed", judge.Input{Gates: bad, AllowUndecided: true}, judge.Fail},
		{"a rule fails", judge.Input{Gates: good, Rules: rule(judge.Fail)}, judge.Fail},
		{"a rule is undecided", judge.Input{Gates: good, Rules: rule(judge.Undecided)}, judge.Undecided},
		{"a scenario without requests", judge.Input{ScenarioGates: map[string]judge.Gates{"other": good}}, judge.Undecided},
	} {
		c.in.Rows = table.Rows(spoken(100))
		v := judge.Judge(c.in)
		if v.Verdict != c.want {
			t.Errorf("%s: got %s, want %s (%+v)", c.what, v.Verdict, c.want, v.Gates)
		}
		if len(v.Warnings) != len(c.in.Rules) {
			t.Errorf("%s: warnings %q", c.what, v.Warnings)
		}
	}
}

// TestLeftOut: warm-up, other hops and what failed for want of something of our
// own are in no figure.
func TestLeftOut(t *testing.T) {
	records := spoken(80)
	for i, change := range []func(*stream.Record){
		func(r *stream.Record) {
			r.Labels = map[string]string{"scenario": "plain", "phase": "peak", "warmup": "true"}
		},
		func(r *stream.Record) { r.Hop = "gateway" },
		func(r *stream.Record) { r.Reason = "no_descriptor" },
		func(r *stream.Record) { r.Reason = "no_local_port" },
	} {
		r := answer(80+i, stream.ErrorEarly)
		change(r)
		records = append(records, r)
	}
	if g := judged(t, records, "complete", "share >= 100%"); g.N != 80 || g.Verdict != judge.Pass {
		t.Errorf("got %+v", g)
	}
}

// TestPhasesAndScenarios: each gate in each phase, or in the one it names.
func TestPhasesAndScenarios(t *testing.T) {
	records := slices.Concat(spoken(80), spoken(80))
	for i, r := range records {
		phase, scenario := "calm", "plain"
		if i >= 80 {
			phase = "peak"
		}
		if i%2 == 1 {
			scenario = "tool"
		}
		r.Labels = map[string]string{"phase": phase, "scenario": scenario}
	}
	named := gate(t, "ttft", "p50 < 1s")
	c := named["ttft"][0]
	c.Phase = "peak"
	named["ttft"] = append(named["ttft"], c)
	v := judge.Judge(judge.Input{
		Rows: table.Rows(records), Gates: named, Span: map[string]float64{"peak": 10, "calm": 10, "never": 10},
		ScenarioGates: map[string]judge.Gates{"tool": gate(t, "complete", "share >= 1%")},
	})
	var got []string
	for _, g := range v.Gates {
		got = append(got, fmt.Sprintf("%s/%s/%s %d %s", g.Scenario, g.Phase, g.Metric, g.N, g.Verdict))
	}
	want := []string{
		"/calm/ttft 80 pass", "/peak/ttft 80 pass", "/never/ttft 0 undecided", "/peak/ttft 80 pass",
		"tool/calm/complete 40 pass", "tool/peak/complete 40 pass", "tool/never/complete 0 undecided",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestVerdictJSON: the keys are the contract; nothing unknown is 0.
func TestVerdictJSON(t *testing.T) {
	v := judge.Judge(judge.Input{Rows: table.Rows(spoken(5)), Gates: gate(t, "ttft", "p95 < 1s")})
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"verdict":"undecided","gates":[{"scenario":"","phase":"peak","metric":"ttft","stat":"p95","op":"\u003c","limit":1000,"actual":null,"interval":null,"unit":"ms","n":5,"verdict":"undecided","why":"too few answers: 5, and the interval of this quantile needs 72"}],"rules":[],"warnings":[]}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

// TestShareAtLimit: a share that is exactly its limit keeps it, whatever binary
// makes of the decimals.
func TestShareAtLimit(t *testing.T) {
	for bad := 0; bad < 1000; bad += 7 {
		limit := fmt.Sprintf("share >= %g%%", float64(1000-bad)/10)
		g := judge.Judge(judge.Input{Rows: shareRows(1000, bad), Gates: gate(t, "complete", limit)}).Gates[0]
		if g.Verdict != judge.Pass {
			t.Fatalf("%d of 1000 at %s: %s, %s", 1000-bad, limit, g.Verdict, g.Why)
		}
	}
}

// shareRows are n rows that have an outcome and nothing else.
func shareRows(n, bad int) []table.Row {
	rows := make([]table.Row, n)
	for i := range rows {
		rows[i].Outcome = stream.Complete
		if i < bad {
			rows[i].Outcome = stream.Truncated
		}
	}
	return rows
}
