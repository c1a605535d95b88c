package diagnose

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/stream"
)

func TestSilence(t *testing.T) {
	hung := cut(stream.Hung, 20, 30_000)
	got := codes(hung)
	if !slices.Equal(got, []string{"hung", "stall"}) {
		t.Errorf("hung after output: %v", got)
	}
	for _, f := range Diagnose([]*stream.Record{hung}) {
		if f.Code == "stall" && !strings.Contains(f.Text, "output stopped after event 20; nothing more came for 29.42 s") {
			t.Errorf("%s", f.Text)
		}
	}
	beats := cut(stream.Hung, 0, 30_000)
	put(beats, 5000, stream.Event{Kind: stream.KindHeartbeat})
	if got := codes(beats); !slices.Equal(got, []string{"hung", "heartbeats_only"}) {
		t.Errorf("heartbeats only: %v", got)
	}
}

func TestFirstTokenPath(t *testing.T) {
	r := plain(20, 4000)
	if got := codes(r); !slices.Contains(got, "first_token_path") {
		t.Errorf("%v", got)
	}
	if got := codes(plain(400, 4000)); slices.Contains(got, "first_token_path") {
		t.Errorf("most of the time was decoding: %v", got)
	}
}

// TestQueueNarrows: a cause that the service states excludes the others.
func TestQueueNarrows(t *testing.T) {
	r := plain(200, 2000)
	first(r, 1500, stream.Event{Kind: stream.KindStage, Name: "queue", Took: stream.Some(1500 * time.Millisecond)})
	for _, f := range Diagnose([]*stream.Record{r}) {
		if f.Code == "first_event_early" && (len(f.Means) != 1 || !strings.Contains(f.Means[0], "queue")) {
			t.Errorf("means %q", f.Means)
		}
	}
	for _, f := range Diagnose([]*stream.Record{plain(200, 2000)}) {
		if f.Code == "late_text" && len(f.Means) != 4 {
			t.Errorf("nothing excludes a cause, but it lists %q", f.Means)
		}
	}
}

func TestServiceEvenClientBursty(t *testing.T) {
	s := source{n: 60, ttft: 200, gap: every(20), bytes: words}
	records := session5(s, bySize(4096, true), quiet, 1)
	for _, r := range records {
		k := 0
		for i := range r.Events {
			if r.Events[i].Kind.Business() {
				r.Events[i].ServiceTime = stream.Some(time.Duration(k) * 20 * time.Millisecond)
				k++
			}
		}
	}
	if got := codes(records...); !slices.Contains(got, "service_even_client_bursty") || !slices.Contains(got, "buffering_by_size") {
		t.Errorf("%v", got)
	}
}

func TestLossAndLagAreListed(t *testing.T) {
	s := source{n: 60, ttft: 200, gap: every(20), bytes: words}
	records := session5(s, bySize(4096, false), quiet, 1)
	for _, r := range records {
		r.RcvOOO = stream.Some(3)
	}
	f, _ := batchFinding(Diagnose(records))
	if !strings.Contains(strings.Join(f.Means, "; "), "out of order") {
		t.Errorf("loss is not listed: %q", f.Means)
	}
	for _, r := range records {
		r.Reads[0].LagMax = stream.Some(time.Second)
	}
	f, _ = batchFinding(Diagnose(records))
	if f.Code != "batches" || !strings.Contains(f.Text, "our own reader") {
		t.Errorf("a late reader makes batches too: %s", f.Text)
	}
}

func TestPathsAreNamed(t *testing.T) {
	a, b := cut(stream.Truncated, 20, 590), cut(stream.Truncated, 20, 590)
	b.Hop = "origin"
	fs := Diagnose([]*stream.Record{a, b, nil})
	if len(fs) != 2 || strings.HasPrefix(fs[0].Text, "path") || !strings.HasPrefix(fs[1].Text, "path origin: ") {
		t.Errorf("%s", list(fs))
	}
}

func TestMostSevereFirst(t *testing.T) {
	r := cut(stream.Truncated, 20, 590)
	r.Stamp, r.StampWhy = stream.StampSocket, "why"
	put(r, 600, stream.Event{Kind: stream.KindOther, Name: "x"})
	if got := codes(r); !slices.Equal(got, []string{"truncated", "other_events", "no_kernel_stamps"}) {
		t.Errorf("%v", got)
	}
	if len(Diagnose(nil)) != 0 {
		t.Error("findings about nothing")
	}
}

// TestAnyRecord: odd records, torn logs included, never make it panic or write
// what is no JSON.
func TestAnyRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []*stream.Record
		for range rapid.IntRange(0, 4).Draw(t, "records") {
			records = append(records, oddRecord(t))
		}
		fs := Diagnose(records)
		if _, err := json.Marshal(fs); err != nil {
			t.Fatal(err)
		}
		for _, f := range fs {
			if f.Text == "" || f.Check == "" || len(f.Means) == 0 || len(f.RequestIDs) > maxIDs {
				t.Fatalf("%+v", f)
			}
		}
	})
}

func oddRecord(t *rapid.T) *stream.Record {
	ms := func(label string) time.Duration {
		return time.Duration(rapid.IntRange(-5, 3000).Draw(t, label)) * time.Millisecond
	}
	r := &stream.Record{
		RequestID: "x", Choices: rapid.IntRange(0, 2).Draw(t, "choices"), Hop: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "hop"),
		Outcome:  rapid.SampledFrom(append(stream.Outcomes(), stream.Unknown)).Draw(t, "outcome"),
		Streamed: rapid.Bool().Draw(t, "streamed"), Whole: rapid.Bool().Draw(t, "whole"), NoReads: rapid.Bool().Draw(t, "noreads"),
		UsageAsked: rapid.Bool().Draw(t, "asked"), TextKept: rapid.Bool().Draw(t, "kept"),
		Facts:  stream.Facts{ContentEncoding: rapid.SampledFrom([]string{"", "gzip"}).Draw(t, "encoding")},
		Expect: stream.Expect{Events: rapid.IntRange(0, 9).Draw(t, "expect"), Chars: rapid.IntRange(0, 9).Draw(t, "chars")},
	}
	if rapid.Bool().Draw(t, "ended") {
		r.End = stream.Some(ms("end"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "arrivals") {
		r.Arrivals = append(r.Arrivals, stream.Arrival{At: ms("at"), Bytes: rapid.IntRange(0, 5000).Draw(t, "bytes")})
		r.Reads = append(r.Reads, stream.Read{LagMax: stream.Some(ms("lag"))})
	}
	for range rapid.IntRange(0, 40).Draw(t, "events") {
		e := stream.Event{
			Kind: stream.Kind(rapid.IntRange(0, 11).Draw(t, "kind")), At: ms("when"), Name: rapid.SampledFrom([]string{"", "queue", "x"}).Draw(t, "name"),
			Arrival: rapid.IntRange(-1, 8).Draw(t, "arrival"), Read: rapid.IntRange(-1, 8).Draw(t, "read"), Bytes: rapid.IntRange(0, 900).Draw(t, "size"),
			Late: rapid.Bool().Draw(t, "late"), Text: rapid.SampledFrom([]string{"", "a.", "\ufffd", "b"}).Draw(t, "text"),
		}
		if rapid.Bool().Draw(t, "counted") {
			e.Chars, e.Visible, e.Wide = stream.Some(2), stream.Some(1), stream.Some(3)
			e.ServiceTime, e.ServiceSeq = stream.Some(ms("service")), stream.Some(int64(rapid.IntRange(-9, 99).Draw(t, "seq")))
			e.Took, e.Tokens = stream.Some(ms("took")), stream.Some(rapid.IntRange(0, 3).Draw(t, "tokens"))
		}
		r.Events = append(r.Events, e)
	}
	return r
}
