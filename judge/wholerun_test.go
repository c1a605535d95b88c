package judge_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/judge"
	"weir/stream"
	"weir/table"
)

// used is a complete answer whose service states its usage and calls tools.
func used(i, input, cached, output int, tools ...string) *stream.Record {
	r := answer(i, stream.Complete, 10, 20)
	r.Usage = &stream.Usage{
		Input: stream.Some(input), Cached: stream.Some(cached), Output: stream.Some(output), Billed: stream.Some(output),
	}
	for _, name := range tools {
		r.Events = append(r.Events, stream.Event{Kind: stream.KindTool, Tool: name, Text: "{}", At: 15e6, Arrival: 2})
	}
	return r
}

func priced(t *testing.T, records []*stream.Record, p judge.Prices, name, condition string) judge.GateResult {
	t.Helper()
	v := judge.Judge(judge.Input{Rows: table.Rows(records), Gates: gate(t, name, condition), Prices: p, Span: map[string]float64{"peak": 4}})
	return v.Gates[0]
}

func TestCostPerRequest(t *testing.T) {
	half := 1.0
	tokens := judge.Prices{Input: 2, Output: 8, Cached: &half, Currency: "CNY"}
	tools := tokens
	tools.Tools = map[string]float64{"search": 0.01, "refund": 0.5}
	anthropic := used(1, 1000, 400, 100)
	anthropic.Dialect = "anthropic"
	unnamed := used(1, 1000, 0, 100)
	unnamed.Events = append(unnamed.Events, stream.Event{Kind: stream.KindTool, Text: "{}", At: 30e6, Arrival: 2})
	for _, c := range []struct {
		what    string
		records []*stream.Record
		prices  judge.Prices
		want    float64 // NaN = unknown
		n       int
		why     string
	}{
		{"tokens", []*stream.Record{used(1, 1000, 0, 100)}, tokens, (1000*2 + 100*8) / 1e6, 1, ""},
		{"cached are among the input", []*stream.Record{used(1, 1000, 400, 100)}, tokens, (600*2 + 400*1 + 100*8) / 1e6, 1, ""},
		{"cached cost as the rest", []*stream.Record{used(1, 1000, 400, 100)}, judge.Prices{Input: 2, Output: 8}, (1000*2 + 100*8) / 1e6, 1, ""},
		{"cached beside the input", []*stream.Record{anthropic}, tokens, (1000*2 + 400*1 + 100*8) / 1e6, 1, ""},
		{"tools by name", []*stream.Record{used(1, 0, 0, 0, "search", "search", "other", "refund")}, tools, 0.52, 1, ""},
		{"tools, none called", []*stream.Record{used(1, 0, 0, 0)}, tools, 0, 1, ""},
		{"tools that have no names", []*stream.Record{unnamed}, tools, math.NaN(), 0, "1 request of 1 do not say"},
		{"the mean of those that say", []*stream.Record{used(1, 1000, 0, 0), used(2, 3000, 0, 0), answer(3, stream.Reset, 10)}, tokens, 2000 * 2 / 1e6, 2, "1 request of 3 do not say"},
		{"none says", []*stream.Record{answer(1, stream.Complete, 10)}, tokens, math.NaN(), 0, "1 request of 1 do not say"},
		{"only dropped", []*stream.Record{answer(1, stream.Dropped)}, tokens, math.NaN(), 0, "no request was sent in phase peak"},
	} {
		g := priced(t, c.records, c.prices, "cost_per_request", "< 10")
		got, want := shown(g.Actual), fmt.Sprintf("%.4g", c.want)
		if math.IsNaN(c.want) {
			want = "null"
		}
		if got != want || g.N != c.n || !strings.Contains(g.Why, c.why) || (g.Verdict == judge.Pass) == math.IsNaN(c.want) {
			t.Errorf("%s: got %s (n %d, %s, %q), want %s (n %d, %q)", c.what, got, g.N, g.Verdict, g.Why, want, c.n, c.why)
		}
		if g.N > 0 && g.Unit != c.prices.Currency {
			t.Errorf("%s: unit %q", c.what, g.Unit)
		}
	}
}

// TestWholeRunFigures: several answers of one request are one request, with one
// usage.
func TestWholeRunFigures(t *testing.T) {
	a, b := used(1, 100, 0, 60, "search"), used(1, 100, 0, 60, "search")
	for i, r := range []*stream.Record{a, b} {
		r.RequestID, r.Choice, r.Choices = fmt.Sprintf("q#%d", i), i, 2
		for j := range r.Events {
			r.Events[j].Tokens = stream.Some(10)
		}
	}
	cut := answer(3, stream.Truncated, 10)
	cut.Events[0].Tokens = stream.Some(7)
	records := []*stream.Record{a, b, used(2, 100, 0, 40), cut, answer(4, stream.Dropped)}
	for _, c := range []struct {
		name, condition, actual string
		n                       int
		verdict, why            string
	}{
		{"rate", "value >= 0.5", "0.5", 3, judge.Pass, ""},
		{"system_tps", ">= 26", "26.75", 3, judge.Pass, ""}, // (30 + 30 + 40 + 7) ÷ 4 s
		{"tokens_per_request", "< 36", "35.67", 3, judge.Pass, ""},
		{"tokens_per_request", "< 35", "35.67", 3, judge.Fail, "is not < 35 tokens"},
		{"tool_calls_per_request", "<= 0.5", "0.6667", 3, judge.Fail, "is not <= 0.5"},
	} {
		g := priced(t, records, judge.Prices{}, c.name, c.condition)
		if shown(g.Actual) != c.actual || g.N != c.n || g.Verdict != c.verdict || !strings.Contains(g.Why, c.why) {
			t.Errorf("%s [%s]: got %s, n %d, %s, %q; want %+v", c.name, c.condition, shown(g.Actual), g.N, g.Verdict, g.Why, c)
		}
		if g.Interval != nil || g.Stat != "" {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
	v := judge.Judge(judge.Input{Rows: table.Rows(records), Gates: gate(t, "rate", ">= 1")})
	if g := v.Gates[0]; g.Verdict != judge.Undecided || !strings.Contains(g.Why, "not known how long it was measured in phase peak") {
		t.Errorf("without a span: %+v", g)
	}
}
