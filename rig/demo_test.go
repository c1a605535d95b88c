package rig

import (
	"context"
	"testing"

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
		shape    string
		ttft     float64 // ms, at least
		naiveLow bool    // the naive first byte comes long before the first output
	}{
		{stream.Complete, metric.Steady, 350, false},
		{stream.Complete, metric.Steady, 3100, true},
		{stream.Complete, "", 250, false},
		{stream.Truncated, metric.Stalled, 200, false},
		{stream.Complete, metric.Steady, 2900, true},
	} {
		r := rows[i]
		v := metric.Measure(r.Record)
		ttft, _ := v.Get("ttft").Get()
		if r.Record.Outcome != want.outcome || ttft < want.ttft || (want.shape != "" && v.Shape != want.shape) {
			t.Errorf("%s: outcome %s, ttft %.0f ms, shape %s", r.Name, r.Record.Outcome, ttft, v.Shape)
		}
		if r.Naive.Result != "ok" {
			t.Errorf("%s: the naive client says %q", r.Name, r.Naive.Result)
		}
		first, ok := r.Naive.FirstByte.Get()
		if !ok || (first.Seconds()*1000 < ttft-1000) != want.naiveLow {
			t.Errorf("%s: naive first byte %v, ttft %.0f ms", r.Name, first, ttft)
		}
		if (len(r.Findings) > 0 && r.Findings[0].Severity != "info") != (i > 0) {
			t.Errorf("%s: findings %+v", r.Name, r.Findings)
		}
	}
	if x := metric.Measure(rows[4].Record).Get("useful"); x.Is != metric.Reached {
		t.Errorf("tool chain: useful is %v", x.Is)
	}
}
