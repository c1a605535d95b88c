package rig

import (
	"os"
	"strings"
	"testing"

	"weir/judge"
)

// aftersales is the shipped example, aimed at a mock, in a few seconds.
func aftersales(t *testing.T, change ...string) *Bench {
	t.Helper()
	text, err := os.ReadFile("../examples/aftersales.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plan := lax + strings.NewReplacer(append(change, "http://127.0.0.1:9000", benchMock(t, ""),
		"requests: 20", "requests: 3", "arrivals: poisson, rate: 10/s, duration: 70s, warmup: 5s",
		"arrivals: constant, rate: 130/s, duration: 5s")...).Replace(string(text))
	return bench(t, plan, BenchOptions{})
}

func TestAftersalesPasses(t *testing.T) {
	t.Parallel()
	b := aftersales(t)
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
	b := aftersales(t,
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
