package judge_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/judge"
	"weir/stream"
	"weir/table"
)

// rank orders verdicts from worst: what must not rise when a run gets worse.
func rank(verdict string) int {
	return slices.Index([]string{judge.Invalid, judge.Fail, judge.Undecided, judge.Pass}, verdict)
}

// drawn are answers of every kind, ttft up to 3 s.
func drawn(t *rapid.T) []*stream.Record {
	var out []*stream.Record
	n := rapid.IntRange(1, 120).Draw(t, "n")
	outcomes := append(slices.Repeat([]stream.Outcome{stream.Complete}, 30), stream.Outcomes()...)
	for i := range n {
		o := rapid.SampledFrom(outcomes).Draw(t, "outcome")
		if o == stream.Dropped || o == stream.ErrorEarly || rapid.IntRange(0, 9).Draw(t, "mute") == 0 && !o.Ended() {
			out = append(out, answer(i, o))
			continue
		}
		out = append(out, answer(i, o, float64(rapid.IntRange(1, 3000).Draw(t, "ttft"))))
	}
	return out
}

// TestWorseNeverBetter: a request that is slower than the limit, failed, was
// dropped or was cut unheard never turns a gate that is not passed into one
// that is, and never mends the share of complete answers.
func TestWorseNeverBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := drawn(t)
		limit := rapid.IntRange(1, 3000).Draw(t, "limit")
		op := rapid.SampledFrom([]string{"<", "<="}).Draw(t, "op")
		which := rapid.SampledFrom([]string{"p50", "p90", "p95", "p99", "max", "mean"}).Draw(t, "stat")
		worse := rapid.SampledFrom([]*stream.Record{
			answer(999, stream.Complete, float64(limit)+0.001), answer(999, stream.Complete, 9999),
			answer(999, stream.ErrorEarly), answer(999, stream.Dropped), answer(999, stream.Hung), answer(999, stream.Reset),
		}).Draw(t, "worse")
		check := func(name, condition string, enough bool) {
			c, err := judge.ParseCondition(condition)
			if err != nil {
				t.Fatal(err)
			}
			in := judge.Input{Gates: judge.Gates{name: {c}}, Rows: table.Rows(records)}
			before := judge.Judge(in).Gates[0]
			in.Rows = append(in.Rows, table.RowOf(worse))
			after := judge.Judge(in).Gates[0]
			if rank(after.Verdict) > rank(before.Verdict) && !(before.Verdict == judge.Undecided && enough) {
				t.Fatalf("%s %q: %s (%s) became %s (%s)", name, condition, before.Verdict, before.Why, after.Verdict, after.Why)
			}
			if before.Verdict == judge.Fail && after.Verdict != judge.Fail {
				t.Fatalf("%s %q: fail became %s", name, condition, after.Verdict)
			}
		}
		// One more answer may be the one that lets a quantile be decided at all.
		check("ttft", fmt.Sprintf("%s %s %dms", which, op, limit), true)
		if worse.Outcome != stream.Complete {
			check("complete", "share >= 90%", false)
		}
	})
}

// TestPassIsKnown: a gate that passes has a number that keeps it, or a lower
// bound that does.
func TestPassIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := table.Rows(drawn(t))
		limit := float64(rapid.IntRange(1, 3000).Draw(t, "limit"))
		which := rapid.SampledFrom([]string{"p50", "p90", "p95", "max", "mean"}).Draw(t, "stat")
		verdicts := map[string]judge.GateResult{}
		for _, op := range []string{"<", ">="} {
			g := judge.Gates{"ttft": {{Stat: which, Op: op, Value: limit, Unit: "ms"}}}
			verdicts[op] = judge.Judge(judge.Input{Rows: rows, Gates: g}).Gates[0]
		}
		below, above := verdicts["<"], verdicts[">="]
		if below.Verdict == judge.Pass && (below.Actual == nil || *below.Actual >= limit) {
			t.Fatalf("passed %s < %v with %+v", which, limit, below)
		}
		if below.Verdict == judge.Pass && above.Verdict == judge.Pass {
			t.Fatalf("both a limit and its opposite pass: %+v, %+v", below, above)
		}
		if below.Actual != nil && below.Verdict == judge.Fail && above.Verdict != judge.Pass {
			t.Fatalf("a known number keeps neither a limit nor its opposite: %+v, %+v", below, above)
		}
	})
}

// TestOrderDoesNotMatter: the same answers in another order bear the same verdict.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := table.Rows(drawn(t))
		in := judge.Input{Rows: rows, Span: map[string]float64{"peak": 3}, Gates: judge.Gates{
			"ttft": {{Stat: "p50", Op: "<", Value: 1000, Unit: "ms"}}, "complete": {{Stat: "share", Op: ">=", Value: 0.9}}, "rate": {{Op: ">=", Value: 1}},
		}}
		before := fmt.Sprintf("%+v", judge.Judge(in).Gates[0].Verdict)
		shares := shown(judge.Judge(in).Gates[0].Actual)
		in.Rows = rapid.Permutation(rows).Draw(t, "order")
		after := judge.Judge(in).Gates
		if got := fmt.Sprintf("%+v", after[0].Verdict); got != before || shown(after[0].Actual) != shares {
			t.Fatalf("%s became %s", before, got)
		}
	})
}
