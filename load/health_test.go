package load

import (
	"encoding/json"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"weir/stream"
)

func TestHealthVerdicts(t *testing.T) {
	some := stream.Some[float64]
	for _, c := range []struct {
		name, want, reason string
		h                  Health
	}{
		{"nothing known", Valid, "", Health{}},
		{"late", Suspect, "lateness p99", Health{LatenessP95: some(1), LatenessP99: some(21)}},
		{"later", Invalid, "lateness p95", Health{LatenessP95: some(51), LatenessP99: some(99)}},
		{"late beside a slow service", Suspect, "p99", Health{LatenessP95: some(90), LatenessP99: some(99), MedianTTFT: some(1000)}},
		{"slower than planned", Suspect, "97.0%", Health{AchievedRatio: some(0.97)}},
		{"far slower", Invalid, "94.0%", Health{AchievedRatio: some(0.94)}},
		{"the scheduler", Suspect, "processor", Health{SchedP99: some(30)}},
		{"lag", Suspect, "3.0% of events", Health{LagMaxShare: some(0.03), LagShareApp: some(0.03)}},
		{"lag by application stamps", Invalid, "application", Health{LagMaxShare: some(0.11), LagShareApp: some(0.11)}},
		{"lag by kernel stamps", Suspect, "20.0%", Health{LagMaxShare: some(0.2), LagShareKern: some(0.2)}},
		{"much of it", Invalid, "kernel", Health{LagMaxShare: some(0.26), LagShareKern: some(0.26)}},
		{"own drops", Invalid, "descriptors or ports", Health{OwnDrops: 1}},
		{"lost", Invalid, "could not be kept", Health{Lost: 1}},
		{"drops of the plan are a result", Valid, "", Health{Drops: 1000}},
		{"a limit of the plan's own", Valid, "", Health{SchedP99: some(30), Limits: map[string]float64{"sched_p99_suspect_ms": 50}}},
	} {
		c.h.Judge()
		all := strings.Join(c.h.Reasons, "; ")
		if c.h.Verdict != c.want || !strings.Contains(all, c.reason) || (c.want == Valid) != (all == "") {
			t.Errorf("%s: %s %q", c.name, c.h.Verdict, all)
		}
		if len(c.h.Limits) != len(Limits) {
			t.Errorf("%s: the limits in use are not stated", c.name)
		}
	}
}

func TestHealthUnknownIsNull(t *testing.T) {
	b, err := json.Marshal(Health{})
	if err != nil || !strings.Contains(string(b), `"port_headroom":null`) {
		t.Errorf("%s %v", b, err)
	}
	if err := CheckLimits(map[string]float64{"lateness": 1}); err == nil || !strings.Contains(err.Error(), "lateness_p99_suspect_ms") {
		t.Errorf("%v", err)
	}
}

// Ports and descriptors that ran out are ours, by their names.
func TestOwnFailures(t *testing.T) {
	b := &bucket{}
	w := &watch{}
	r := &run{buckets: []*bucket{b}, watch: w}
	records := []*stream.Record{
		{Outcome: stream.ErrorEarly, Reason: "no_local_port"},
		{Outcome: stream.ErrorEarly, Reason: "unreachable", Detail: "dial tcp: socket: too many open files"},
		{Outcome: stream.ErrorEarly, Reason: "unreachable", Detail: "no route to host"},
	}
	r.settle(&arrival{}, b, records)
	if w.own != 2 || records[1].Reason != ReasonDescriptors || Own(records[2]) {
		t.Errorf("%d own, %q, %q", w.own, records[1].Reason, records[2].Reason)
	}
}

// Our own limit of streams makes drops that are not the plan's.
func TestShortOfDescriptors(t *testing.T) {
	g := &gate{own: 2}
	var got []admission
	for range 3 {
		a, _ := g.enter(&arrival{}, 0, "")
		got = append(got, a)
	}
	if got[1] != admitted || got[2] != short {
		t.Errorf("%v", got)
	}
}

func TestLagIsCountedByEvent(t *testing.T) {
	w := &watch{lagOver: 10 * time.Millisecond}
	slow, fast := stream.Some(20*time.Millisecond), stream.Some(time.Millisecond)
	w.see([]*stream.Record{{Stamp: stream.StampKernel, Reads: []stream.Read{{LagMax: slow}, {LagMax: fast}, {Waited: true}},
		Events: []stream.Event{{Read: 1}, {Read: 1}, {Read: 2}, {Read: 3}, {}}}})
	if w.kernel != (lag{5, 2}) || w.app != (lag{}) {
		t.Errorf("%+v %+v", w.kernel, w.app)
	}
}

func TestQuantileOfRuntimeHistogram(t *testing.T) {
	from := &metrics.Float64Histogram{Counts: []uint64{5, 0, 7}, Buckets: []float64{0, 0.001, 0.002, 0.003}}
	to := &metrics.Float64Histogram{Counts: []uint64{5 + 98, 1, 7 + 1}, Buckets: from.Buckets}
	for q, want := range map[float64]float64{0.5: 1, 0.99: 2, 1: 3} {
		if got := quantileSince(from, to, q); got != stream.Some(want) {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if quantileSince(from, from, 0.5).Known() {
		t.Error("a quantile of nothing")
	}
}
