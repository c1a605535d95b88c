package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/judge"
	"weir/stream"
)

// told is a stream of named stage events, written as "name@ms", or as
// "name,name@ms" where marks hold at one event.
func told(i int, outcome stream.Outcome, endMS int, events ...string) *stream.Record {
	r := &stream.Record{
		RequestID: fmt.Sprint("r", i), Index: i, Choices: 1, Outcome: outcome,
		End: stream.Some(time.Duration(endMS) * time.Millisecond),
	}
	for n, s := range events {
		names, at, _ := strings.Cut(s, "@")
		ms, err := time.ParseDuration(at + "ms")
		if err != nil {
			panic(err)
		}
		e := stream.Event{Kind: stream.KindStage, At: ms, Seq: n + 1, Name: names}
		if list := strings.Split(names, ","); len(list) > 1 {
			e.Name, e.Marks = "", list
		}
		r.Events = append(r.Events, e)
	}
	return r
}

func watch(t testing.TB, r judge.Rule, marks []string, records ...*stream.Record) judge.RuleResult {
	t.Helper()
	w, err := judge.NewWatch("plain", []judge.Rule{r}, marks)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range records {
		w.See(rec)
	}
	return w.Results()[0]
}

// TestRulesOnStreams: one stream against one rule.
func TestRulesOnStreams(t *testing.T) {
	inTime := judge.Rule{When: "timeout", Then: "handoff", Within: time.Second}
	later := judge.Rule{When: "timeout", Then: "handoff"}
	promise := judge.Rule{Never: "decision", Before: "verified"}
	most := judge.Rule{AtMost: 2, Of: "retry"}
	forbid := judge.Rule{Of: "error"}
	const kept, broken, censored = "kept", "broken", "censored"
	for _, c := range []struct {
		what string
		rule judge.Rule
		r    *stream.Record
		want string
	}{
		{"in time", inTime, told(0, stream.Complete, 5000, "timeout@100", "handoff@900"), kept},
		{"at the last moment", inTime, told(0, stream.Complete, 5000, "timeout@100", "handoff@1100"), kept},
		{"late", inTime, told(0, stream.Complete, 5000, "timeout@100", "handoff@1101"), broken},
		{"never, and the stream ended at once", inTime, told(0, stream.Complete, 150, "timeout@100"), broken},
		{"never, and the stream broke", inTime, told(0, stream.Reset, 150, "timeout@100"), broken},
		{"no when", inTime, told(0, stream.Complete, 5000, "handoff@900"), kept},
		{"a then before the when does not count", inTime, told(0, stream.Complete, 5000, "handoff@50", "timeout@100"), broken},
		{"each when", inTime, told(0, stream.Complete, 9000, "timeout@100", "handoff@200", "timeout@300", "handoff@3000"), broken},
		{"each when, kept", inTime, told(0, stream.Complete, 9000, "timeout@100", "handoff@200", "timeout@3000", "handoff@3100"), kept},
		{"the first of two whens waits longest", inTime, told(0, stream.Complete, 9000, "timeout@100", "timeout@1000", "handoff@1200"), broken},
		{"a second then does not mend a late one", inTime, told(0, stream.Complete, 9000, "timeout@100", "handoff@1200", "handoff@1300"), broken},
		{"both at one event", inTime, told(0, stream.Complete, 5000, "timeout,handoff@100"), kept},
		{"cut in time", inTime, told(0, stream.Cancelled, 1050, "timeout@100"), censored},
		{"cut at the last moment", inTime, told(0, stream.Cancelled, 1100, "timeout@100"), censored},
		{"cut too late to matter", inTime, told(0, stream.Hung, 10_100, "timeout@100"), broken},
		{"cut after a violation", inTime, told(0, stream.Cancelled, 5100, "timeout@100", "handoff@2000", "timeout@5000"), broken},
		{"a log that does not say how it ended", inTime, told(0, stream.Unknown, 150, "timeout@100"), censored},
		{"a log that goes on long enough", inTime, told(0, stream.Unknown, 5000, "timeout@100", "other@4000"), broken},
		{"at any time", later, told(0, stream.Complete, 99_000, "timeout@100", "handoff@98000"), kept},
		{"not before the end", later, told(0, stream.Complete, 99_000, "timeout@100"), broken},
		{"not before we cut it", later, told(0, stream.Timeout, 99_000, "timeout@100"), censored},

		{"after", promise, told(0, stream.Complete, 900, "verified@100", "decision@200"), kept},
		{"before", promise, told(0, stream.Complete, 900, "decision@200", "verified@300"), broken},
		{"without", promise, told(0, stream.Complete, 900, "decision@200"), broken},
		{"neither", promise, told(0, stream.Complete, 900, "other@200"), kept},
		{"at one event", promise, told(0, stream.Complete, 900, "decision,verified@200"), kept},
		{"cut before it came", promise, told(0, stream.Cancelled, 300), kept},
		{"cut after it was broken", promise, told(0, stream.Cancelled, 300, "decision@200"), broken},

		{"as many as allowed", most, told(0, stream.Complete, 900, "retry@1", "retry@2"), kept},
		{"too many", most, told(0, stream.Complete, 900, "retry@1", "retry@2", "retry@3"), broken},
		{"none of the forbidden", forbid, told(0, stream.Complete, 900, "retry@1"), kept},
		{"one of the forbidden", forbid, told(0, stream.Complete, 900, "error@1"), broken},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := watch(t, c.rule, []string{"unused"}, c.r)
			if strings.Contains(c.what, "at one event") {
				got = watch(t, c.rule, []string{"timeout", "handoff", "decision", "verified"}, c.r)
			}
			want := map[string]judge.RuleResult{
				kept:     {Checked: 1, Verdict: judge.Pass},
				broken:   {Checked: 1, Violations: 1, Verdict: judge.Fail},
				censored: {Censored: 1, Verdict: judge.Undecided},
			}[c.want]
			if got.Checked != want.Checked || got.Violations != want.Violations || got.Censored != want.Censored || got.Verdict != want.Verdict {
				t.Errorf("got %+v, want %s", got, c.want)
			}
			if ids := len(got.RequestIDs); ids != want.Violations {
				t.Errorf("%d request ids", ids)
			}
		})
	}
}

// TestRuleNames: what a name in a rule means.
func TestRuleNames(t *testing.T) {
	r := told(0, stream.Complete, 900, "stage_name@10")
	r.Events = append(r.Events,
		stream.Event{Kind: stream.KindTool, Name: "content_block_start", Tool: "refund", Text: "refund", At: 20e6},
		stream.Event{Kind: stream.KindHeartbeat, At: 30e6},
		stream.Event{Kind: stream.KindText, Marks: []string{"decision"}, At: 40e6},
	)
	for name, want := range map[string]bool{
		"stage_name": true, "content_block_start": true, "refund": true, "heartbeat": true, "tool": true, "text": true,
		"decision": true, "stage": true, "other": false, "usage": false, "": false,
	} {
		if name == "" {
			continue
		}
		got := watch(t, judge.Rule{Of: name}, []string{"decision"}, r)
		if (got.Violations == 1) != want || (len(got.Unseen) == 0) != want || (got.Applied == 1) != want {
			t.Errorf("%q: %+v, want it to be seen: %v", name, got, want)
		}
	}
	// A mark of the scenario hides an event of the same name.
	if got := watch(t, judge.Rule{Of: "heartbeat"}, []string{"heartbeat"}, r); got.Violations != 0 || !slices.Equal(got.Unseen, []string{"heartbeat"}) {
		t.Errorf("a mark that was not reached: %+v", got)
	}
	// A name that only a mark of another scenario has is none here.
	if got := watch(t, judge.Rule{Of: "decision"}, nil, r); got.Violations != 0 {
		t.Errorf("no mark of this scenario: %+v", got)
	}
}

func TestWatchLeavesOut(t *testing.T) {
	warm, hop := told(0, stream.Complete, 900, "a@1"), told(1, stream.Complete, 900, "a@1")
	warm.Labels, hop.Hop = map[string]string{"warmup": "true"}, "gateway"
	got := watch(t, judge.Rule{Of: "a"}, nil, warm, hop, told(2, stream.Dropped, 0))
	if got.Checked != 0 || got.Violations != 0 || got.Verdict != judge.Undecided || !slices.Equal(got.Unseen, []string{"a"}) {
		t.Errorf("got %+v", got)
	}
}

// TestWatchConcurrent: many streams at once; the ids that are kept are the
// first of the run, whichever ended first.
func TestWatchConcurrent(t *testing.T) {
	w, err := judge.NewWatch("plain", []judge.Rule{
		{Name: "no b", Of: "b"}, {When: "a", Then: "b"}, {Never: "b", Before: "c"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			events := []string{"a@10", "b@20"}
			if i%2 == 1 {
				events = events[:1]
			}
			w.See(told(i, stream.Complete, 900, events...))
			w.Results()
		})
	}
	all.Wait()
	got := w.Results()
	var first []string
	for i := range judge.MaxRequestIDs {
		first = append(first, fmt.Sprint("r", 2*i))
	}
	if g := got[0]; g.Checked != n || g.Violations != n/2 || g.Applied != n/2 || !slices.Equal(g.RequestIDs, first) || g.Name != "no b" {
		t.Errorf("got %+v", g)
	}
	if g := got[1]; g.Checked != n || g.Violations != n/2 || g.Applied != n || g.RequestIDs[0] != "r1" || g.Name != "when a then b" || g.Scenario != "plain" {
		t.Errorf("got %+v", g)
	}
	if g := got[2]; g.Violations != n/2 || !slices.Equal(g.Unseen, []string{"c"}) {
		t.Errorf("got %+v", g)
	}
}
