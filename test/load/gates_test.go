package load

import (
	"slices"
	"strings"
	"testing"
)

const gatesPlan = `target: {url: "URL/custom/chat?QUERY", dialect: article}
load: [{name: p, arrivals: constant, rate: 60/s, duration: 1s}]
scenarios:
  - name: a
    marks: {useful: "state.decision != nil", decision: "state.decision != nil"}
    rules:
      - {name: told, when: tool_timeout, then: handoff, within: 2s}
      - {name: checked, never: decision, before: verified}
      - {name: once, at_most: 1, of: handoff}
    gates: {ttft: [p50 < 15s], useful: [p50 < 15s]}
gates: {complete: [share >= 99%], gap_max: [p50 < 1s]}
`

// One service that keeps every promise, and others that break one each: that
// one is found, and no other is blamed.
func TestEachPromiseIsHeldAlone(t *testing.T) {
	t.Parallel()
	url := startService(t).url
	for _, c := range []struct {
		name, query string
		broken      []string // gates and rules that must not pass; all others must
	}{
		{"kept", "emit=tool_timeout@2,verified@3,handoff@4&state=decision:ok@6", nil},
		{"told too late", "emit=tool_timeout@2,verified@3,handoff@8&state=decision:ok@6&gap=600ms", []string{"told"}},
		{"never told", "emit=tool_timeout@2,verified@3&state=decision:ok@6", []string{"told"}},
		{"promised before the check", "emit=tool_timeout@2,handoff@4,verified@7&state=decision:ok@6", []string{"checked"}},
		{"told twice", "emit=tool_timeout@2,verified@3,handoff@4,handoff@7&state=decision:ok@6", []string{"once"}},
		{"cut behind good latency", "emit=tool_timeout@2,verified@3,handoff@4&state=decision:ok@6&truncate_after=7", []string{"complete"}},
		{"stalls in the middle", "emit=tool_timeout@2,verified@3,handoff@4&state=decision:ok@6&stall_after=7&stall=1500ms", []string{"gap_max"}},
		{"empty talk", "emit=tool_timeout@2,verified@3,handoff@4", []string{"useful"}},
		{"fails fast in the stream", "emit=tool_timeout@2,verified@3,handoff@4&state=decision:ok@6&error_after=0", []string{"complete", "gap_max", "ttft", "useful"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			query := "ttft=5ms&gap=5ms&n=10&" + c.query
			if strings.Contains(c.query, "gap=") {
				query = "ttft=5ms&n=10&" + c.query
			}
			code, r, stderr := bench(t, strings.NewReplacer("URL", url, "QUERY", query).Replace(gatesPlan))
			if want := map[bool]int{true: 0, false: 3}[c.broken == nil]; code != want {
				t.Errorf("exit code %d, want %d\n%s", code, want, stderr)
			}
			var broken []string
			for _, g := range r.Gates {
				if g.Verdict != "pass" {
					broken = append(broken, g.Metric)
				}
			}
			for _, x := range r.Rules {
				if x.Verdict == "fail" {
					broken = append(broken, x.Name)
				}
				if (x.Violations > 0) != (len(x.RequestIDs) > 0) {
					t.Errorf("rule %s: %d violations, requests %v", x.Name, x.Violations, x.RequestIDs)
				}
			}
			if slices.Sort(broken); !slices.Equal(broken, c.broken) {
				t.Errorf("broken: %v, want %v", broken, c.broken)
			}
		})
	}
}
