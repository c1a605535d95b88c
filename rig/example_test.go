package rig

import (
	"os"
	"strings"
	"testing"

	"weir/judge"
)

// aftersales is the shipped example, aimed at a mock, in a few seconds: fewer
// people than in its hour, and no limit in flight that a busy machine could meet.
func aftersales(t *testing.T, load string, change ...string) *Bench {
	t.Helper()
	text, err := os.ReadFile("../examples/aftersales.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plan := lax + strings.NewReplacer(append(change, "http://127.0.0.1:9000", benchMock(t, ""),
		"requests: 20", "requests: 2", "max_in_flight: 500", "max_in_flight: 5000",
		"arrivals: poisson, rate: 10/s, duration: 70s, warmup: 5s", load)...).Replace(string(text))
	return bench(t, plan, BenchOptions{})
}

// patience is limits that only an answer that never comes exceeds: how soon
// something comes is this machine's neighbours' affair.
var patience = []string{"p95 < 2s", "p95 < 60s", "p95 < 2.5s", "p95 < 60s", "p95 < 4s", "p95 < 60s", "p95 < 6s", "p95 < 60s",
	"p95 < 500ms", "p95 < 60s", "p95 < 1s", "p95 < 60s", "within: 1s", "within: 60s"}

func TestAftersalesPasses(t *testing.T) {
	t.Parallel()
	b := aftersales(t, "arrivals: constant, rate: 80/s, duration: 6s", patience...)
	if b.Verdict.Verdict != judge.Pass || len(b.Verdict.Rules) != 2 || len(b.Verdict.Gates) < 15 {
		t.Errorf("%s, %d rules, %d gates, warnings %q", b.Verdict.Verdict, len(b.Verdict.Rules), len(b.Verdict.Gates), b.Warnings)
		for _, g := range b.Verdict.Gates {
			if g.Verdict != judge.Pass {
				t.Errorf("%+v", g)
			}
		}
	}
	seen := map[string]int{}
	for _, r := range b.Rows {
		seen[r.Scenario]++
	}
	if len(seen) != 5 {
		t.Errorf("%v", seen)
	}
}

// The same service with the faults the example is there to find.
func TestAftersalesFails(t *testing.T) {
	t.Parallel()
	b := aftersales(t, "arrivals: constant, rate: 60/s, duration: 5s",
		"ttft=normal:300ms:40ms&gap=20ms&n=40", "ttft=300ms&gap=20ms&n=40&truncate_after=12", // a good beginning, no end
		"emit=tool_timeout@3,handoff@8", "emit=tool_timeout@3,handoff@29&stall_after=20&stall=1200ms", // told too late
		"emit=verified@6", "emit=verified@30", // promised before the check
		"emit=tool_result@1&", "", // the tool's answer never came
	)
	bad := map[string]bool{}
	for _, g := range b.Verdict.Gates {
		if g.Verdict == judge.Fail {
			bad[g.Scenario+" "+g.Metric] = true
		}
	}
	for _, r := range b.Verdict.Rules {
		if r.Violations > 0 && len(r.RequestIDs) > 0 {
			bad[r.Scenario+" "+r.Name] = true
		}
	}
	for _, want := range []string{
		" complete", " broken_share", "plain_qa useful", "single_tool tool_ok",
		"tool_timeout tell the user of a tool timeout", "promise never promise before checking",
	} {
		if !bad[want] {
			t.Errorf("%q was not found; found %v", want, bad)
		}
	}
	if b.Verdict.Verdict != judge.Fail {
		t.Errorf("verdict %s", b.Verdict.Verdict)
	}
}
