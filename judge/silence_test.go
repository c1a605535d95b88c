package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/judge"
	"weir/stream"
	"weir/table"
)

// TestSilence: by hand. answer ends at 10 s, so that one that stopped speaking
// was silent to there if it did not complete.
func TestSilence(t *testing.T) {
	var records []*stream.Record
	add := func(n int, o stream.Outcome, at ...float64) {
		for range n {
			records = append(records, answer(len(records), o, at...))
		}
	}
	add(5, stream.Complete, 100, 200)        // never silent
	add(3, stream.Complete, 100, 3100, 3200) // 3 s, and went on well
	add(2, stream.Reset, 1000)               // 9 s, and broke
	add(1, stream.Truncated, 100, 5200)      // 5.1 s, then 4.8 s, and broke
	add(4, stream.Hung, 500)                 // 9.5 s, and we cut it
	add(1, stream.ErrorEarly)                // 10 s without a word, and failed
	add(1, stream.Dropped)                   // no stream
	add(1, stream.Unknown, 100, 9000)        // a log that does not say
	whole, hop := answer(90, stream.ErrorEarly), answer(91, stream.Reset, 1000)
	whole.Whole, hop.Hop = true, "gateway"
	rows := table.Rows(append(records, whole, hop))

	var got []string
	for _, s := range judge.Silence(rows, 9*time.Second) {
		line := fmt.Sprintf("%ds n=%d failed=%d cut=%d", s.Seconds, s.N, s.Failed, s.Cut)
		if !s.Applies {
			line = fmt.Sprintf("%ds n/a", s.Seconds)
		}
		if s.Share != nil {
			line += fmt.Sprintf(" %.3f [%.3f, %.3f]", *s.Share, s.Interval[0], s.Interval[1])
		}
		got = append(got, line)
	}
	want := []string{
		"3s n=7 failed=4 cut=4 0.571 [0.184, 0.901]",
		"5s n=4 failed=4 cut=4 1.000 [0.398, 1.000]",
		"10s n/a", "30s n/a",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	open := judge.Silence(rows, 0)
	if s := open[2]; !s.Applies || s.N != 1 || s.Failed != 1 || s.Cut != 0 {
		t.Errorf("10 s without a deadline: %+v", s)
	}
	if s := open[3]; !s.Applies || s.N != 0 || s.Share != nil || s.Interval != nil {
		t.Errorf("30 s, which none reached: %+v", s)
	}
	if s := judge.Silence(rows, 10*time.Second)[2]; s.Applies {
		t.Errorf("a threshold at the deadline applies: %+v", s)
	}
}
