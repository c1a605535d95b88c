package metric

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/stream"
)

// drawn is a record of business events in arrivals at rising times.
func drawn(t *rapid.T) *builder {
	outcomes := append(stream.Outcomes(), stream.Unknown)
	b := newRecord(rapid.SampledFrom(outcomes).Draw(t, "outcome"), -1)
	now := float64(rapid.IntRange(1, 3000).Draw(t, "first"))
	for range rapid.IntRange(0, 30).Draw(t, "arrivals") {
		b.r.Arrivals = append(b.r.Arrivals, stream.Arrival{At: at(now), Bytes: 100, Reads: 1})
		for range rapid.IntRange(1, 4).Draw(t, "events") {
			e := text(rapid.IntRange(1, 9).Draw(t, "chars"))
			e.Tokens = stream.Some(rapid.IntRange(0, 4).Draw(t, "tokens"))
			e.Kind = rapid.SampledFrom([]stream.Kind{stream.KindText, stream.KindText, stream.KindReasoning, stream.KindTool}).Draw(t, "kind")
			b.also(now, e)
		}
		now += float64(rapid.IntRange(1, 2500).Draw(t, "gap"))
	}
	b.r.End = stream.Some(at(now))
	return b
}

func sameValues(t *rapid.T, a, b Values, names ...string) {
	for _, name := range names {
		if a.Get(name) != b.Get(name) {
			t.Fatalf("%s changed from %v to %v", name, a.Get(name), b.Get(name))
		}
	}
}

var rhythmNames = []string{
	"ttft", "ttft_sent", "first_text", "gap_p50", "gap_p95", "gap_p99", "gap_max", "gap_mean", "gap_stddev", "gap0_p50", "gap0_mean",
	"stall_count", "stall_rate", "stall_time", "stall_at", "batch_share", "batch_max", "pacing_delay", "fluidity_index",
	"tokens", "k1", "rate_e2e", "rate_decode", "chars", "open_gap", "longest_silence",
}

// TestNoiseChangesNothing: heartbeats, role-only, usage and other events,
// wherever and in whatever arrival, change neither ttft nor gaps nor rates.
func TestNoiseChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawn(t)
		before := b.values()
		noise := []stream.Kind{stream.KindHeartbeat, stream.KindConnect, stream.KindUsage, stream.KindOther}
		for range rapid.IntRange(1, 10).Draw(t, "noise") {
			i := rapid.IntRange(0, len(b.r.Events)).Draw(t, "place")
			e := kind(rapid.SampledFrom(noise).Draw(t, "what"))
			if i < len(b.r.Events) {
				e.At, e.Arrival = b.r.Events[i].At, b.r.Events[i].Arrival
			}
			b.r.Events = slices.Insert(b.r.Events, i, e)
		}
		after := b.values()
		sameValues(t, before, after, rhythmNames...)
		if before.Shape != after.Shape {
			t.Fatalf("shape changed from %s to %s", before.Shape, after.Shape)
		}
	})
}

// TestReadsAreNotArrivals: however many reads an arrival took, and whichever
// of them completed an event, the gaps are the same.
func TestReadsAreNotArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawn(t)
		before := b.values()
		for i := range b.r.Events {
			e := &b.r.Events[i]
			e.At += time.Duration(rapid.IntRange(0, 999).Draw(t, "µs")) * time.Microsecond
		}
		for i := range b.r.Arrivals {
			b.r.Arrivals[i].Reads = rapid.IntRange(1, 5).Draw(t, "reads")
		}
		sameValues(t, before, b.values(), "gap_p50", "gap_p95", "gap_p99", "gap_mean", "gap0_p50", "batch_share", "batch_max")
	})
}

// TestAlwaysSane: no value is negative, not a number or infinite, shares stay
// shares, and the JSON can be written.
func TestAlwaysSane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawn(t)
		kinds := []stream.Kind{stream.KindRestart, stream.KindStage, stream.KindDone, stream.KindError, stream.KindTool}
		for range rapid.IntRange(0, 6).Draw(t, "more") {
			i := rapid.IntRange(0, len(b.r.Events)).Draw(t, "place")
			e := kind(rapid.SampledFrom(kinds).Draw(t, "what"))
			e.Name = "x"
			b.r.Events = slices.Insert(b.r.Events, i, e)
		}
		b.r.Whole = rapid.Bool().Draw(t, "whole")
		v := b.values()
		for _, name := range v.Names() {
			x := v.Get(name)
			if x.Is == Missing || math.IsNaN(x.V) || math.IsInf(x.V, 0) || x.V < 0 {
				t.Fatalf("%s = %v", name, x)
			}
			m, _ := Lookup(name)
			if (m.Unit == "share" || m.Unit == "index") && x.V > 1 {
				t.Fatalf("%s = %v is no share", name, x.V)
			}
		}
		if _, err := json.Marshal(v); err != nil {
			t.Fatal(err)
		}
		if v.Get("gap_p50").Is == Reached && v.Get("gap_p50").V > v.Get("gap_max").V {
			t.Fatalf("the median gap is above the longest")
		}
	})
}

// TestPacingIsTheLeastDelay: pacing_delay is the greatest lag of any text event
// behind a reader who starts at once and reads without a pause.
func TestPacingIsTheLeastDelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawn(t)
		var first, read time.Duration
		worst, any := time.Duration(0), false
		for i := range b.r.Events {
			e := &b.r.Events[i]
			if e.Kind != stream.KindText {
				continue
			}
			if !any {
				first, any = e.At, true
			}
			worst = max(worst, e.At-first-read)
			takes, _ := readingTime(e)
			read += takes
		}
		v := newView(&b.r)
		if !any {
			return
		}
		if v.unfinished() {
			worst = max(worst, b.r.End.Or(0)-first-read)
		}
		if got := Measure(&b.r).Get("pacing_delay"); got.Is != Reached || math.Abs(got.V-ms(worst)) > 1e-6 {
			t.Fatalf("pacing_delay %v, want %v", got, ms(worst))
		}
	})
}

// TestGlanceIsMeasure: what is counted of every stream is what its measures say.
func TestGlanceIsMeasure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawn(t)
		b.r.Whole = rapid.Bool().Draw(t, "whole")
		if rapid.Bool().Draw(t, "scheduled") {
			b.r.Lateness = stream.Some(at(7))
		}
		ttft, firstText, rhythm := Glance(&b.r)
		v := Measure(&b.r)
		if ttft != v.Get("ttft") || firstText != v.Get("first_text") || !reflect.DeepEqual(rhythm, Observe(&b.r)) {
			t.Fatalf("%v, %v, %v instead of %v, %v, %v", ttft, firstText, rhythm, v.Get("ttft"), v.Get("first_text"), Observe(&b.r))
		}
	})
}
