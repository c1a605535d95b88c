package metric

import (
	"testing"

	"weir/stream"
)

func stage(name string) stream.Event { return stream.Event{Kind: stream.KindStage, Name: name} }

func TestGapsAreBetweenArrivals(t *testing.T) {
	v := newRecord(stream.Complete, 900).
		add(100, kind(stream.KindConnect)).
		add(200, text(1)).also(200, text(1)).also(200.4, text(1)). // one flush, several reads
		add(250, kind(stream.KindHeartbeat)).
		add(300, text(1)).
		add(700, text(1)).also(700, done(stream.ProofTerminal)).values()
	want(t, v, "ttft", 200)
	want(t, v, "gap_p50", 100)
	want(t, v, "gap_p95", 400)
	want(t, v, "gap_max", 400)
	want(t, v, "gap_mean", 250)
	want(t, v, "gap_stddev", 212.132)
	want(t, v, "gap0_p50", 0)
	want(t, v, "gap0_mean", 125)
	want(t, v, "batch_share", 0.6)
	want(t, v, "batch_max", 3)
	want(t, v, "arrivals", 3)
	want(t, v, "first_event", 100)
	want(t, v, "heartbeats", 1)
	wantIs(t, v, Missing, "open_gap", "phase_gap_max", "stall_at")
	want(t, v, "stall_count", 0)
	want(t, v, "stall_rate", 0)
}

// TestArrivalTime: a gap runs between the first reads of two arrivals, also
// where the event was completed by a later read of its arrival.
func TestArrivalTime(t *testing.T) {
	b := newRecord(stream.Complete, 400).add(100, text(1)).add(200, text(1))
	b.r.Events[1].At = at(230)
	v := b.values()
	want(t, v, "gap_p50", 100)
	want(t, v, "last_output", 230)
}

func TestNoKnownGap(t *testing.T) {
	one := newRecord(stream.Complete, 300).add(200, text(1)).also(200, text(1)).also(200, done(stream.ProofTerminal)).values()
	wantIs(t, one, Missing, "gap_p50", "gap_p95", "gap_max", "gap_mean", "gap_stddev", "stall_count", "stall_rate", "longest_silence")
	want(t, one, "gap0_max", 0)
	if one.Shape != Single {
		t.Errorf("shape %q", one.Shape)
	}
	whole := newRecord(stream.Complete, 300).add(300, text(5)).also(300, done(stream.ProofTerminal))
	whole.r.Whole = true
	v := whole.values()
	wantIs(t, v, Missing, "ttft", "ttft_sent", "first_text", "first_event", "gap0_p50", "rate_decode", "pacing_delay", "fluidity_index")
	want(t, v, "complete", 300)
	want(t, v, "end", 300)
}

func TestPhaseGaps(t *testing.T) {
	tool := kind(stream.KindTool)
	v := newRecord(stream.Complete, 9000).
		add(100, text(1)).add(150, text(1)).
		add(160, stage("retrieval")).add(2150, text(1)). // a stage lies between
		add(2200, text(1)).also(2200, stage("plan")).add(4200, text(1)).
		add(4300, tool).add(4320, tool). // a call begins: phase; its pieces: rhythm
		add(8320, text(1)).also(8320, done(stream.ProofTerminal)).values()
	want(t, v, "phase_gap_count", 4)
	want(t, v, "phase_gap_max", 4000)
	want(t, v, "phase_gap_time", 2000+2000+100+4000)
	want(t, v, "gap_max", 50)
	want(t, v, "gap_p50", 50)
	want(t, v, "stall_count", 0)
	want(t, v, "longest_silence", 4000)
}

func TestOpenGap(t *testing.T) {
	b := newRecord(stream.Hung, 12_150).add(100, text(1)).add(150, text(1)).add(5000, kind(stream.KindHeartbeat))
	v := b.values()
	want(t, v, "open_gap", 12_000)
	want(t, v, "gap_max", 12_000)
	want(t, v, "gap_p95", 50) // quantiles are over known gaps
	want(t, v, "stall_count", 1)
	want(t, v, "stall_rate", 0.5)
	want(t, v, "stall_time", 12_000)
	want(t, v, "stall_at", 2)
	if !v.GapMaxOpen {
		t.Error("the longest gap is not labelled open")
	}
	for _, o := range []stream.Outcome{stream.Complete, stream.Gapped, stream.Unknown} {
		b.r.Outcome = o
		wantIs(t, b.values(), Missing, "open_gap")
		want(t, b.values(), "gap_max", 50)
	}
	b.r.Outcome = stream.Cancelled
	b.add(160, stage("tool_timeout"))
	v = b.values() // the open gap holds a phase: reported, no stall
	want(t, v, "open_gap", 12_000)
	want(t, v, "stall_count", 0)
	want(t, v, "gap_max", 50)
	want(t, v, "longest_silence", 12_000)
	silent := newRecord(stream.Hung, 30_000).add(100, kind(stream.KindHeartbeat)).values()
	want(t, silent, "longest_silence", 30_000)
}

func TestStalls(t *testing.T) {
	v := newRecord(stream.Complete, 9000).
		add(100, text(1)).add(1100, text(1)). // exactly 1 s is no stall
		add(2101, text(1)).add(4601, text(1)).add(4700, text(1)).values()
	want(t, v, "stall_count", 2)
	want(t, v, "stall_rate", 0.5)
	want(t, v, "stall_time", 1001+2500)
	want(t, v, "stall_at", 3)
}

// TestFallingTimes: a log whose clock went back has an unknown gap there.
func TestFallingTimes(t *testing.T) {
	v := newRecord(stream.Complete, 900).add(100, text(1)).add(50, text(1)).add(80, text(1)).values()
	want(t, v, "gap_p50", 30)
	want(t, v, "gap_max", 30)
}

func TestShapes(t *testing.T) {
	steady := func(n int, gap float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = gap
		}
		return xs
	}
	cat := func(parts ...[]float64) []float64 {
		var xs []float64
		for _, p := range parts {
			xs = append(xs, p...)
		}
		return xs
	}
	batch := func(n int, pause float64) []float64 { // n batches of four
		var xs []float64
		for range n {
			xs = append(xs, 0, 0, 0, pause)
		}
		return xs
	}
	for _, c := range []struct {
		name string
		gaps []float64 // 0 = same arrival
		want string
	}{
		{"one arrival", []float64{0, 0, 0}, Single},
		{"nine events", steady(8, 20), Short},
		{"ten events", steady(9, 20), Steady},
		{"batches with pauses", batch(6, 300), Bursty},
		{"batches in quick order", batch(6, 150), Steady},
		{"pauses without batches", steady(20, 300), Steady},
		{"one stall in a lively answer", cat(steady(20, 20), []float64{1200}, steady(20, 20)), Stalled},
		{"a second is not over a second", cat(steady(40, 20), []float64{1000}, steady(40, 20)), Steady},
		{"five medians of a slow answer", cat(steady(20, 300), []float64{1400}), Steady},
		{"a stall below a tenth", cat(steady(400, 30), []float64{1200}), Steady},
		{"a slow first quarter", cat(steady(5, 200), steady(15, 20)), SlowStart},
	} {
		b := newRecord(stream.Complete, -1)
		now := 100.0
		b.add(now, text(1))
		for _, g := range c.gaps {
			now += g
			if g == 0 {
				b.also(now, text(1))
			} else {
				b.add(now, text(1))
			}
		}
		if got := b.values().Shape; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	phase := newRecord(stream.Complete, -1).add(100, text(1))
	for i := range 20 {
		if i == 10 {
			phase.add(105, stage("retrieval"))
			phase.add(5000+20*float64(i), text(1))
			continue
		}
		phase.add(float64(i/10)*4900+110+20*float64(i), text(1))
	}
	if got := phase.values().Shape; got != Steady {
		t.Errorf("a phase in the middle made it %q", got)
	}
	if got := newRecord(stream.ErrorEarly, 10).values().Shape; got != "" {
		t.Errorf("a stream that never spoke has the shape %q", got)
	}
}
