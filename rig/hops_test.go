package rig

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/report"
	"weir/stream"
)

// hop is a record whose outputs come at the given times; extra is a gateway's.
func hop(id string, extra map[string]string, at ...time.Duration) *stream.Record {
	r := &stream.Record{RequestID: id, Choices: 1, Streamed: true, Conn: "warm", Outcome: stream.Complete, Target: "http://service/模型",
		End: stream.Some(at[len(at)-1] + time.Millisecond), Start: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}
	if extra != nil {
		extra["bytes_delivered"] = "100"
		r.Hop, r.Facts.Extra, r.Labels = "gateway", extra, map[string]string{"route": "/v1/*"}
	}
	for i, t := range at {
		r.Reads = append(r.Reads, stream.Read{At: t, App: t, Bytes: 10, Waited: true})
		r.Arrivals = append(r.Arrivals, stream.Arrival{At: t, Bytes: 10, Reads: 1})
		r.Events = append(r.Events, stream.Event{Kind: stream.KindText, Seq: i + 1, At: t, Read: i + 1, Arrival: i + 1,
			Bytes: 10, Chars: stream.Some(1), Visible: stream.Some(1)})
	}
	return r
}

const ms = time.Millisecond

func firstSent(v float64) map[string]string {
	return map[string]string{"first_sent_ms": strconv.FormatFloat(v, 'f', -1, 64)}
}

// The gateway's place is bounded by what must be so, whatever the wall clocks
// say; the truth lies within.
func TestPlaceHoldsTheTruth(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		truth := time.Duration(rnd.IntN(20_000)) * time.Microsecond // when the gateway really got it
		before := time.Duration(rnd.IntN(5_000)) * time.Microsecond
		var client, gw []time.Duration
		at := 10 * ms
		for range 1 + rnd.IntN(20) {
			at += time.Duration(rnd.IntN(50_000)) * time.Microsecond
			gw = append(gw, at)
			arrival := truth + before + at + time.Duration(rnd.IntN(9_000))*time.Microsecond
			if n := len(client); n > 0 {
				arrival = max(arrival, client[n-1])
			}
			client = append(client, arrival)
		}
		c, g := hop("a", nil, client...), hop("a", map[string]string{}, gw...)
		g.Lateness = stream.Some(before)
		g.Start = g.Start.Add(time.Duration(rnd.Int64N(int64(time.Hour)))) // another machine's clock
		p := Place(Side{Answers: []*stream.Record{c}}, Side{Answers: []*stream.Record{g}, Gateway: true})
		if !p.Known || p.Low > truth || p.High < truth || p.Pairs != len(gw) {
			t.Fatalf("seed %d: %+v, truth %v", seed, p, truth)
		}
	}
}

func TestPlaceRefusesContradictions(t *testing.T) {
	c, g := hop("a", nil, 10*ms, 20*ms), hop("a", firstSent(30), 29*ms, 40*ms)
	p := Place(Side{Answers: []*stream.Record{c}}, Side{Answers: []*stream.Record{g}, Gateway: true})
	if p.Known || !strings.Contains(p.Why, "contradict") {
		t.Errorf("%+v", p)
	}
	g = hop("a", map[string]string{}, 5*ms)
	g.Whole = true
	if p := Place(Side{Answers: []*stream.Record{c}}, Side{Answers: []*stream.Record{g}, Gateway: true}); p.Known || p.Why == "" {
		t.Errorf("nothing bounds it: %+v", p)
	}
}

func TestJoinHops(t *testing.T) {
	cold := hop("cold", nil, 100*ms)
	cold.Conn = "cold"
	named := hop("named", nil, 9*ms)
	named.Hop = "gateway" // a client's name for a path
	j, ok := JoinHops([]*stream.Record{
		hop("both", nil, 100*ms, 120*ms), cold, hop("alone", nil, 5*ms), hop("twice", nil, 5*ms), named, hop("old", nil, 7*ms),
		hop("both", firstSent(99.5), 90*ms, 110*ms), hop("cold", firstSent(99), 90*ms), hop("other", firstSent(4), 3*ms),
		hop("twice", firstSent(4), 3*ms), func() *stream.Record { r := hop("twice", firstSent(4), 3*ms); r.Run = "2"; return r }(),
		hop("old", map[string]string{}, 6*ms),
	})
	if !ok || len(j.Pairs) != 3 || j.ClientOnly != 2 || j.GatewayOnly != 1 || j.Ambiguous != 1 {
		t.Fatalf("%v, %d pairs, %+v", ok, len(j.Pairs), j)
	}
	for i, want := range []struct {
		id, why string
		ms      float64
	}{{"both", "", 0.5}, {"cold", ColdConnection, 0}, {"old", NotStamped, 0}} {
		p := j.Pairs[i]
		got, known := p.NetworkAndRelay.Get()
		if p.ID != want.id || p.Why != want.why || known != (want.why == "") || known && msOf(got) != want.ms {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	var b bytes.Buffer
	if err := report.WriteHopsJoinJSON(&b, j.Report()); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Join struct {
			Joined int
			Left   map[string]int `json:"left_out"`
			Relay  struct {
				N   int
				Min *float64
				P50 *float64
			} `json:"network_and_relay_ms"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if r := out.Join; r.Joined != 3 || r.Left[ColdConnection] != 1 || r.Relay.N != 1 || *r.Relay.Min != 0.5 || r.Relay.P50 != nil {
		t.Errorf("%s", b.Bytes())
	}
	if _, ok := JoinHops([]*stream.Record{hop("a", nil, ms), hop("b", nil, ms)}); ok {
		t.Error("two clients were joined")
	}
}

func TestTraceOrdersAndPlaces(t *testing.T) {
	g := hop("a", firstSent(95), 92*ms, 2192*ms)
	g.Lateness, g.Start = stream.Some(2*ms), g.Start.Add(time.Hour)
	g.Facts.UpstreamID, g.Facts.BodyID = "up-1", "chatcmpl-1"
	out := Trace("a", []Side{{Answers: []*stream.Record{g}, Gateway: true}, {Answers: []*stream.Record{hop("a", nil, 100*ms, 2200*ms)}}})
	if len(out.Hops) != 3 || out.Hops[0].Name != "client" || out.Hops[2].IDs["x-request-id"] != "up-1" {
		t.Fatalf("%+v", out.Hops)
	}
	if p := out.Hops[1].Placed; p == nil || p.LowMS != 0 || p.HighMS != 5 || *p.ClockLowMS < 3_599_000 {
		t.Errorf("placed %+v", p)
	}
	last := -1.0
	for _, m := range out.Moments {
		if m.AtMS == nil || *m.AtMS < last {
			t.Errorf("%+v after %v", m, last)
			continue
		}
		last = *m.AtMS
	}
	var b strings.Builder
	if err := report.WriteHops(&b, out, report.View{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"0.00 ms            client   sent the request", "2.50 ms  ± 2.5 ms  gateway  request came", "after the longest silence, 2.10 s",
		"x-request-id id up-1", "ahead of client's", "http://service/模型"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %q in\n%s", part, b.String())
		}
	}
}

// Where only one side has a log, its account is told alone.
func TestTraceOfOneSide(t *testing.T) {
	out := Trace("a", []Side{{Answers: []*stream.Record{hop("a", firstSent(5), 4*ms)}, Gateway: true}})
	if len(out.Hops) != 1 || out.Hops[0].Placed == nil || len(out.Notes) != 0 {
		t.Errorf("%+v", out)
	}
	c, g := hop("a", nil, 3*ms), hop("a", firstSent(50), 49*ms)
	out = Trace("a", []Side{{Answers: []*stream.Record{c}}, {Answers: []*stream.Record{g}, Gateway: true}})
	if out.Hops[1].Placed != nil || len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "no place on the line") {
		t.Errorf("%+v", out)
	}
}
