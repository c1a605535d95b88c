package judge_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/config"
	"weir/judge"
)

func TestParseCondition(t *testing.T) {
	for text, want := range map[string]judge.Condition{
		"p95 < 2s":                 {Stat: "p95", Op: "<", Value: 2000, Unit: "ms"},
		"p50<=1m30s":               {Stat: "p50", Op: "<=", Value: 90_000, Unit: "ms"},
		"  max  <=  100 ms ":       {Stat: "max", Op: "<=", Value: 100, Unit: "ms"},
		"p99 > 50us":               {Stat: "p99", Op: ">", Value: 0.05, Unit: "ms"},
		"share >= 99%":             {Stat: "share", Op: ">=", Value: 99, Unit: "%"},
		"share >= 0.995":           {Stat: "share", Op: ">=", Value: 0.995},
		"mean < .5":                {Stat: "mean", Op: "<", Value: 0.5},
		"< 3":                      {Op: "<", Value: 3},
		">= 1e3 tok/s":             {Op: ">=", Value: 1000, Unit: "tok/s"},
		"value >= 10/s":            {Op: ">=", Value: 10, Unit: "1/s"},
		"p90 <= 4096 bytes":        {Stat: "p90", Op: "<=", Value: 4096, Unit: "bytes"},
		"p95 < 2h":                 {Stat: "p95", Op: "<", Value: 7_200_000, Unit: "ms"},
		"max <= 20000000000000001": {Stat: "max", Op: "<=", Value: 20000000000000001},
	} {
		got, err := judge.ParseCondition(text)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseConditionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "the condition is empty; write STAT OP VALUE, such as p95 < 2s or share >= 99%",
		"   ":                              "the condition is empty; write STAT OP VALUE",
		"p95 2s":                           `"p95 2s" compares nothing; write STAT OP VALUE`,
		"p95 == 2s":                        `"==" is no comparison in "p95 == 2s"; allowed: <, <=, >, >=`,
		"p95 = 2s":                         `"=" is no comparison`,
		"p95 =< 2s":                        `"=<" is no comparison`,
		"p95 != 2s":                        `"!=" is no comparison`,
		"p95 << 2s":                        `"<<" is no comparison`,
		"p97 < 2s":                         `stat "p97" in "p97 < 2s" is not one of p50, p90, p95, p99, max, mean, share`,
		"P95 < 2s":                         `stat "P95" in "P95 < 2s" is not one of p50`,
		"ttft p95 < 2s":                    `stat "ttft p95" in`,
		"p95 <":                            `"p95 <" has no value; write STAT OP VALUE`,
		"p95 < fast":                       `"fast" is no number from 0, with or without a unit in "p95 < fast"`,
		"p95 < -1s":                        `"-1s" is no number from 0`,
		"p95 < NaN":                        `"NaN" is no number`,
		"p95 < Inf":                        `"Inf" is no number`,
		"p95 < 1e999":                      `"1e999" is no number that can be held`,
		"p95 < 2 sec":                      `unit "sec" is not known (allowed: ms, s, m, h (also us, ns), %, tok/s, char/s, 1/s, tokens, chars, events, count, bytes, share, index, or none) in "p95 < 2 sec"`,
		"p95 < 2s in peak":                 `unit "s in peak" is not known`,
		"1s < p95 < 2s":                    `stat "1s" in`,
		"p95 < 2s < 3s":                    `unit "s < 3s" is not known`,
		strings.Repeat("很", 100) + " < 2s": `stat "` + strings.Repeat("很", 60) + `…" in`,
	} {
		c, err := judge.ParseCondition(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want an error with %q", text, c, err, want)
		}
	}
}

// TestConditionRoundTrip: what a condition is written as is read as itself.
func TestConditionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := judge.Condition{
			Stat:  rapid.SampledFrom(append([]string{""}, judge.Stats...)).Draw(t, "stat"),
			Op:    rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "op"),
			Unit:  rapid.SampledFrom([]string{"", "ms", "%", "1/s", "tok/s", "tokens", "bytes"}).Draw(t, "unit"),
			Value: float64(rapid.IntRange(0, 1e9).Draw(t, "value")) / 1000,
		}
		got, err := judge.ParseCondition(c.String())
		if err != nil || math.Abs(got.Value-c.Value) > 1e-6 {
			t.Fatalf("%+v is written %q, which reads %+v, %v", c, c, got, err)
		}
		got.Value = c.Value
		if got != c {
			t.Fatalf("%+v is written %q, which reads %+v", c, c, got)
		}
	})
}

func FuzzParseCondition(f *testing.F) {
	for _, s := range []string{"p95 < 2s", "share >= 99%", "< 3", "< 1e5tok/s", "\x00<\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := judge.ParseCondition(s)
		if err == nil && (math.IsNaN(c.Value) || math.IsInf(c.Value, 0) || c.Value < 0 || c.Op == "") {
			t.Errorf("%q was read as %+v", s, c)
		}
	})
}

// plan is the part of a plan that package judge reads.
type plan struct {
	Gates  judge.Gates  `yaml:"gates"`
	Rules  []judge.Rule `yaml:"rules"`
	Prices judge.Prices `yaml:"prices"`
}

func TestGatesFromYAML(t *testing.T) {
	var p plan
	err := config.Decode("plan.yaml", []byte(`
gates:
  ttft: [p95 < 2s, {limit: p95 < 1s, phase: calm}]
  tool_calls_per_request: [< 3]
  rate: [">= 10/s", value >= 10]
rules:
  - {when: tool_timeout, then: handoff, within: 1s}
prices: {input: 2, output: 8, cached: 0.5, tools: {search: 0.01}, currency: CNY}
`), &p)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Gates.Check(judge.Names{Phases: []string{"calm", "peak"}}); err != nil {
		t.Error(err)
	}
	var got []string
	for _, c := range p.Gates["ttft"] {
		got = append(got, fmt.Sprint(c.String(), "/", c.Phase))
	}
	if want := []string{"p95 < 2s/", "p95 < 1s/calm"}; !slices.Equal(got, want) {
		t.Errorf("ttft: %q, want %q", got, want)
	}
	if a, b := p.Gates["rate"][0].String(), p.Gates["rate"][1].String(); a != ">= 10 1/s" || b != ">= 10" {
		t.Errorf("rate: %q, %q", a, b)
	}
}

// TestYAMLErrors: every mistake is told with its line and column, those of
// meaning too.
func TestYAMLErrors(t *testing.T) {
	names := judge.Names{Marks: []string{"fields_complete"}, Phases: []string{"calm", "peak"}}
	for yaml, want := range map[string]string{
		"gates: {ttft: [p95 < 2s, p97 < 2s]}":                "plan.yaml:1:26: gates.ttft[1]: stat \"p97\"",
		"gates: {ttft: p95 < 2s}":                            "plan.yaml:1:15: gates.ttft is the value \"p95 < 2s\", not a list",
		"gates: {ttft: [2]}":                                 "plan.yaml:1:16: gates.ttft[0]: \"2\" compares nothing",
		"gates: {ttft: [[p95 < 2s]]}":                        "plan.yaml:1:16: gates.ttft[0]",
		"gates: {ttft: [{limit: p95 = 2s}]}":                 "plan.yaml:1:24: gates.ttft[0].limit: \"=\" is no comparison",
		"gates: {ttft: [{phase: calm}]}":                     "plan.yaml:1:16: gates.ttft[0]: it has no limit; write {limit: p95 < 2s, phase: peak}",
		"gates: {ttft: [{limit: p95 < 2s, fase: calm}]}":     "plan.yaml:1:34: unknown key \"fase\" in gates.ttft[0]; allowed: limit, phase",
		"gates:\n  ttft: [p95 < 2]":                          "plan.yaml:2:10: gates.ttft[0]: 2 is a time without its unit; write 2ms or 2s",
		"gates:\n  tftt: [p95 < 2s]":                         "plan.yaml:2:10: gates.tftt[0]: there is nothing called \"tftt\"; the marks are fields_complete; the metrics are ttft,",
		"gates: {ttft: [{limit: p95 < 2s, phase: peek}]}":    "plan.yaml:1:16: gates.ttft[0]: there is no phase \"peek\"; there are calm, peak",
		"rules: [{when: a}]":                                 "plan.yaml:1:9: rules[0]: it has no then; write {when: A, then: B, within: 1s}",
		"rules: [{when: a, then: b, within: 1}]":             "plan.yaml:1:36: rules[0].within: \"1\" is no good; it takes a duration with its unit",
		"prices: {input: -1}":                                "plan.yaml:1:9: prices: prices are per million tokens and not negative",
		"prices: {tools: {search: -0.5}, input: 1}":          "plan.yaml:1:9: prices: the price of tool \"search\" is negative",
		"prices: {currency: CNY}":                            "plan.yaml:1:9: prices: a price table has a price above 0",
		"gates: {complete: [share >= 99]}":                   "plan.yaml:1:20: gates.complete[0]: 99 is more than all; write 99% or a number from 0 to 1",
		"gates: {complete: [share >= 101%]}":                 "plan.yaml:1:20: gates.complete[0]: 101% is more than all; write 100% or",
		"gates: {complete: [share >= 2s]}":                   "plan.yaml:1:20: gates.complete[0]: it is a part of 1, and 2s is not that; write 99% or 0.99",
		"gates: {cost_per_request: [< 1], ttft: [p95 < 2%]}": "plan.yaml:1:41: gates.ttft[0]: it is measured in ms, and 2% is not that",
	} {
		var p plan
		err := config.Decode("plan.yaml", []byte(yaml), &p)
		if err == nil {
			err = p.Gates.Check(names)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", yaml, err, want)
		}
	}
}

// TestYAMLKeepsSecrets: a value from the environment is not quoted in an error.
func TestYAMLKeepsSecrets(t *testing.T) {
	t.Setenv("WEIR_TEST_LIMIT", "hush")
	var p plan
	err := config.Decode("plan.yaml", []byte("gates: {ttft: ['p95 < ${WEIR_TEST_LIMIT}']}"), &p)
	if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "plan.yaml:1:16") {
		t.Errorf("got %v", err)
	}
}
