package rig

import (
	"context"
	"testing"

	"weir/diagnose"
	"weir/metric"
	"weir/stream"
)

type kept struct{ records []*stream.Record }

func (k *kept) Put(_ context.Context, r *stream.Record) error {
	k.records = append(k.records, r)
	return nil
}

// Each character must show what it is there to show, by measurement.
func TestDemoShowsWhatItClaims(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real streams for 7 s")
	}
	t.Parallel()
	var sink kept
	rows, err := Demo(t.Context(), &sink)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 || len(sink.records) != 5 {
		t.Fatalf("%d rows, %d records", len(rows), len(sink.records))
	}
	for i, want := range []struct {
		outcome  stream.Outcome
		ttft     float64 // ms, at least
		stalls   float64 // at least
		naiveLow bool    // the naive first byte comes long before the first output
	}{
		{stream.Complete, 350, 0, false},
		{stream.Complete, 3100, 0, true},
		{stream.Complete, 250, 0, false},
		{stream.Truncated, 200, 1, false},
		{stream.Complete, 2900, 0, true},
	} {
		r := rows[i]
		v := metric.Measure(r.Record)
		ttft, _ := v.Get("ttft").Get()
		stalls, _ := v.Get("stall_count").Get()
		if r.Record.Outcome != want.outcome || ttft < want.ttft || stalls < want.stalls {
			t.Errorf("%s: outcome %s, ttft %.0f ms, %.0f stalls", r.Name, r.Record.Outcome, ttft, stalls)
		}
		if r.Naive.Result != "ok" {
			t.Errorf("%s: the naive client says %q", r.Name, r.Naive.Result)
		}
		first, ok := r.Naive.FirstByte.Get()
		if !ok || (first.Seconds()*1000 < ttft-1000) != want.naiveLow {
			t.Errorf("%s: naive first byte %v, ttft %.0f ms", r.Name, first, ttft)
		}
		if i > 0 && (len(r.Findings) == 0 || r.Findings[0].Severity == diagnose.Info) {
			t.Errorf("%s: findings %+v", r.Name, r.Findings)
		}
	}
	if x := metric.Measure(rows[4].Record).Get("useful"); x.Is != metric.Reached {
		t.Errorf("tool chain: useful is %v", x.Is)
	}
}
