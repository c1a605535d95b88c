package rig

import (
	"reflect"
	"strings"
	"testing"

	"weir/judge"
	"weir/metric"
	"weir/table"
)

// What a run was held to comes back as the plan had it, without the plan.
func TestHeldRoundTrip(t *testing.T) {
	t.Parallel()
	p := parse(t, `target: {url: "http://127.0.0.1:1"}
load: [{name: calm, rate: 1/s, duration: 1s}, {name: peak, rate: 5/s, duration: 1s}]
prices: {input: 2, output: 8, cached: 0.5, tools: {search: 0.01}, currency: "${PATH}"}
allow_undecided: true
scenarios:
  - name: qa
    marks: {useful: "text contains 'x'"}
    gates: {useful: [p95 < 1.5s, {limit: share >= 99.5%, phase: peak}], cost_per_request: [value < 0.01]}
gates: {system_tps: ["> 10.5 tok/s"], complete: [{limit: share >= 99%, phase: calm}]}
`)
	h, err := ReadHeld(table.Run{Held: p.held()})
	if err != nil {
		t.Fatal(err)
	}
	if h.Prices == nil || !reflect.DeepEqual(*h.Prices, *p.Prices) || !h.AllowUndecided || !reflect.DeepEqual(h.Marks, map[string][]string{"qa": {"useful"}}) {
		t.Errorf("%+v", h)
	}
	for name, pair := range map[string][2]judge.Gates{"all": {h.Gates, p.Gates}, "qa": {h.Scenarios["qa"], p.Scenarios[0].Gates}} {
		if got, want := gateTexts(pair[0]), gateTexts(pair[1]); got != want {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
	figures, better := h.family()
	if len(figures) != 5 || better[judge.Figure{Metric: "system_tps"}] != metric.Higher || better[judge.Figure{Metric: "useful", Stat: "p95", Scenario: "qa"}] != metric.Lower {
		t.Errorf("%v %v", figures, better)
	}
	if _, err := ReadHeld(table.Run{ID: "r", Held: []byte(`{"gates": {"ttft": ["p95 is good"]}}`)}); err == nil || !strings.Contains(err.Error(), "run r") {
		t.Errorf("a spoiled one: %v", err)
	}
}

func gateTexts(g judge.Gates) string {
	text := ""
	for _, name := range []string{"complete", "cost_per_request", "system_tps", "useful"} {
		for _, c := range g[name] {
			text += name + " " + c.String() + " in " + c.Phase + "\n"
		}
	}
	return text
}
