package report

import (
	"slices"
	"strings"
	"testing"

	"weir/stream"
)

// A mark keeps its own key whatever it is called: one named like a metric or a
// stage neither hides that nor makes up another.
func TestMarksNamedLikeMetrics(t *testing.T) {
	a := newAnswer(0, "cold").headers(5 * ms)
	a.r.Marks = []string{"useful", "ttft", "stage.x", "far"}
	a.at(20*ms, stream.Event{Kind: stream.KindText, Text: "hi", Marks: []string{"ttft"}})
	a.end(50*ms, stream.Truncated)
	out := requestJSON(a.r).fields
	var got []string
	for k := range out {
		if strings.Contains(k, "mark") || strings.HasPrefix(k, "stage") || k == "useful_ms" || k == "ttft_ms" {
			got = append(got, k)
		}
	}
	slices.Sort(got)
	want := []string{"mark_far_ms", "mark_stage.x_ms", "mark_ttft_ms", "ttft_ms", "useful_ms"}
	if !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	if out["mark_far_ms"] != nil || out["mark_ttft_ms"] != 20.0 {
		t.Errorf("far %v, ttft %v", out["mark_far_ms"], out["mark_ttft_ms"])
	}
}
