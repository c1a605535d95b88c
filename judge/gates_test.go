package judge_test

import (
	"slices"
	"strings"
	"testing"

	"weir/judge"
	"weir/metric"
	"weir/stream"
)

// gate makes gates of one metric, by the conditions' texts.
func gate(t testing.TB, name string, conditions ...string) judge.Gates {
	t.Helper()
	g := judge.Gates{name: {}}
	for _, s := range conditions {
		c, err := judge.ParseCondition(s)
		if err != nil {
			t.Fatal(err)
		}
		g[name] = append(g[name], c)
	}
	return g
}

func TestGatesCheck(t *testing.T) {
	n := judge.Names{Marks: []string{"fields_complete", "useful"}, Priced: true}
	for _, ok := range [][2]string{
		{"ttft", "p95 < 2s"}, {"ttft_ms", "max <= 100ms"}, {"useful", "p95 < 2.5s"}, {"useful", "share >= 99%"},
		{"gap_stddev", "p50 < 20ms"}, {"stall_rate", "mean < 0.5"}, {"fluidity_index", "p50 >= 90%"}, {"stage.prefill", "p99 < 1s"},
		{"rate_decode", "p50 >= 20 tok/s"}, {"rate_decode", "p50 >= 20"}, {"fields_complete", "share >= 95%"}, {"mark.fields_complete", "p95 < 3s"},
		{"complete", "share >= 99%"}, {"complete", ">= 99%"}, {"complete", "p95 < 8s"}, {"dropped", "share <= 0.1%"}, {"dropped", "<= 0.1%"},
		{"broken_share", "share <= 1%"}, {"silent_share_10s", "<= 1%"}, {"hung", "share <= 0"},
		{"tokens_per_request", "< 500 tokens"}, {"cost_per_request", "< 0.02"}, {"tool_calls_per_request", "< 3"}, {"system_tps", ">= 100 tok/s"}, {"rate", ">= 10/s"},
		{"tool.search", "max <= 2"}, {"tool_calls", "p95 <= 3"},
	} {
		if err := gate(t, ok[0], ok[1]).Check(n); err != nil {
			t.Errorf("%s [%s]: %v", ok[0], ok[1], err)
		}
	}
}

func TestGatesCheckErrors(t *testing.T) {
	with := judge.Names{Marks: []string{"decision"}}
	for _, c := range []struct{ name, condition, want string }{
		{"ttft", "< 2s", `gate ttft "< 2s": ttft needs a stat: one of p50, p90, p95, p99, max, mean, share, such as p95`},
		{"useful", "p95 < 2s", "useful needs a mark of the name useful; the marks are decision"},
		{"useful_sent", "p95 < 2s", "useful_sent needs a mark of the name useful"},
		{"mark.other", "p95 < 2s", `there is no mark "other"; the marks are decision`},
		{"fields_complete", "share >= 95%", `there is nothing called "fields_complete"; the marks are decision`},
		{"dropped", "p95 < 1%", "dropped is a share and has no p95; write share <= 1%"},
		{"broken_share", "mean < 1%", "broken_share is a share and has no mean"},
		{"system_tps", "p95 > 3", `system_tps is one number of the whole run and has no p95; write it without, such as "< 3" or value >= 10`},
		{"cost_per_request", "< 3", "cost_per_request needs a price table, such as prices: {input: 2, output: 8}"},
		{"rate", "< 3ms", "it is measured in 1/s, and 3ms is not that"},
		{"tokens", "p95 < 3ms", "it is measured in tokens, and 3ms is not that"},
		{"rate_e2e", "p50 > 3 char/s", "it is measured in tok/s, and 3 char/s is not that"},
		{"stall_rate", "p95 < 5", "5 is more than all; write 5% or a number from 0 to 1"},
		{"stage.", "p95 < 1s", `there is nothing called "stage."`},
	} {
		err := gate(t, c.name, c.condition).Check(with)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s [%s]: got %v, want %q", c.name, c.condition, err, c.want)
		}
	}
	err := judge.Gates{"ttft": nil, "nonsense": gate(t, "x", "p95 < 1s")["x"]}.Check(with)
	if err == nil || !strings.Contains(err.Error(), "gate ttft has no condition") || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("all mistakes should be told, got %v", err)
	}
	err = gate(t, "cost_per_request", "< 3 tokens").Check(judge.Names{Priced: true})
	if err == nil || !strings.Contains(err.Error(), "it is measured in a plain number, and 3 tokens is not that") {
		t.Errorf("got %v", err)
	}
}

// TestUnknownListsAll: the error of an unknown name lists what there is.
func TestUnknownListsAll(t *testing.T) {
	err := gate(t, "nonsense", "p95 < 1s").Check(judge.Names{})
	if err == nil {
		t.Fatal("no error")
	}
	var want []string
	for _, m := range metric.All {
		want = append(want, m.Name)
	}
	for _, o := range stream.Outcomes() {
		want = append(want, string(o))
	}
	want = append(want, "stage.NAME", "no marks are defined", "broken_share", "silent_share_10s",
		"rate", "system_tps", "tokens_per_request", "cost_per_request", "tool_calls_per_request")
	for _, name := range want {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not list %s", name)
		}
	}
}

func TestGatesWarnings(t *testing.T) {
	n := judge.Names{Marks: []string{"useful"}}
	for _, c := range []struct {
		name, condition string
		want            string // "" = none
	}{
		{"ttft", "p95 < 2s", ""},
		{"ttft", "p95 > 2s", `gate ttft "p95 > 2s" passes only where it is worse: less of ttft is better`},
		{"complete", "share >= 99%", ""},
		{"complete", "share < 99%", "more of complete is better"},
		{"dropped", "share >= 1%", "less of dropped is better"},
		{"useful", "share <= 50%", "more of useful is better"},
		{"rate_e2e", "p50 <= 20", "more of rate_e2e is better"},
		{"rate", "<= 20", "more of rate is better"},
		{"tool_calls_per_request", "> 3", "less of tool_calls_per_request is better"},
		{"tokens", "p50 > 20", ""}, // neither is better
		{"nonsense", "p50 > 20", ""},
	} {
		got := gate(t, c.name, c.condition).Warnings(n)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s [%s]: %q", c.name, c.condition, got)
		case c.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }):
			t.Errorf("%s [%s]: got %q, want %q", c.name, c.condition, got, c.want)
		}
	}
}
