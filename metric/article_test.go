package metric

import (
	"testing"

	"weir/stream"
)

// TestWorkedExample is the example of METRICS §5: a log without reads whose t0
// is its connect event and which does not say how it ended.
func TestWorkedExample(t *testing.T) {
	b := newRecord(stream.Unknown, -1)
	b.r.NoReads = true
	for _, e := range []struct {
		ms     float64
		kind   stream.Kind
		tokens int
	}{{0, stream.KindConnect, 0}, {1100.3, stream.KindText, 12}, {1155.2, stream.KindText, 7}, {1290.7, stream.KindText, 9}} {
		b.r.Events = append(b.r.Events, stream.Event{Kind: e.kind, At: at(e.ms), Tokens: stream.Some(e.tokens)})
	}
	v := b.values()
	want(t, v, "ttft", 1100.3)
	want(t, v, "tokens", 28)
	want(t, v, "k1", 12)
	want(t, v, "rate_e2e", 21.694)
	want(t, v, "rate_stream_tps", 141.807)
	want(t, v, "rate_decode", 84.034)
	want(t, v, "gap_p50", 54.9)
	want(t, v, "gap_max", 135.5)
	want(t, v, "gap_mean", 95.2)
	want(t, v, "batch_share", 0)
	wantIs(t, v, Missing, "complete", "done", "open_gap", "chars", "first_text", "end", "pacing_delay")
	if v.TokenSource != FromEvents || v.Shape != Short {
		t.Errorf("source %q shape %q", v.TokenSource, v.Shape)
	}
}
