package rig

import (
	"strings"
	"testing"
	"time"

	"weir/report"
	"weir/stream"
)

// kindsOf makes events of kinds written by their first letters: c(onnect),
// t(ext), u(sage), d(one).
func kindsOf(s string) (events []stream.Event, lines []truthLine) {
	kinds := map[rune]stream.Kind{'c': stream.KindConnect, 't': stream.KindText, 'u': stream.KindUsage, 'd': stream.KindDone}
	for _, r := range s {
		events = append(events, stream.Event{Kind: kinds[r]})
		lines = append(lines, truthLine{Kind: kinds[r].String()})
	}
	return events, lines
}

func TestAlignCountsLostAndMisclassified(t *testing.T) {
	for _, tc := range []struct {
		truth, seen        string
		pairs, lost, wrong int
	}{
		{"ctttud", "ctttud", 6, 0, 0},
		{"ctttud", "", 0, 6, 0},
		{"ctttud", "ctttu", 5, 1, 0},
		{"ctttud", "cttud", 5, 1, 0},
		{"ctttud", "tttud", 5, 1, 0},
		{"ctttud", "ttttud", 5, 0, 1},
		{"ctttud", "ctttudd", 6, 0, 1},
		{"ctttud", "ctctud", 5, 0, 1},
		{"", "t", 0, 0, 1},
	} {
		events, _ := kindsOf(tc.seen)
		_, lines := kindsOf(tc.truth)
		pairs, lost, wrong := align(events, lines)
		if len(pairs) != tc.pairs || lost != tc.lost || wrong != tc.wrong {
			t.Errorf("truth %s seen %s: %d pairs, %d lost, %d wrong; want %d, %d, %d", tc.truth, tc.seen, len(pairs), lost, wrong, tc.pairs, tc.lost, tc.wrong)
		}
	}
}

// us is a moment in microseconds since an arbitrary start.
func us(n int64) int64 { return time.Unix(1_800_000_000, 0).UnixNano() + n*1000 }

func TestCompareStatesErrors(t *testing.T) {
	micro := time.Microsecond
	// Writes at 1000..1010, 2000..2010, 3000..3010 µs; the kernel stamps lie
	// inside, 5 before and 40 after; the application's 30, 50 and 90 after the
	// writes began.
	lines := []truthLine{
		{"r", "text", us(1000), us(1010)}, {"r", "text", us(2000), us(2010)}, {"r", "text", us(3000), us(3010)},
	}
	r := &stream.Record{RequestID: "r", Start: time.Unix(0, us(0)), Stamp: stream.StampKernel}
	for i, at := range []struct{ kernel, app int64 }{{1005, 1030}, {1995, 2050}, {3050, 3090}} {
		r.Reads = append(r.Reads, stream.Read{App: time.Duration(at.app) * micro, Kernel: stream.Some(time.Duration(at.kernel) * micro)})
		r.Events = append(r.Events, stream.Event{Kind: stream.KindText, Read: i + 1, Arrival: i + 1})
	}
	c := compare([]*stream.Record{r}, map[string][]truthLine{"r": lines})
	if c.Events != 3 || c.Lost != 0 || c.Misclassified != 0 || c.KernelStreams != 1 {
		t.Errorf("counts: %+v", c)
	}
	check := func(what string, got *report.Errors, bias, p50, p99 float64) {
		t.Helper()
		if got == nil || got.Bias != bias || got.P50 != p50 || got.P99 != p99 || got.Max != p99 {
			t.Errorf("%s: %+v, want bias %g, p50 %g, p99 and max %g", what, got, bias, p50, p99)
		}
	}
	check("kernel ttft", c.Kernel.TTFT, 5, 0, 0)
	check("kernel gap", c.Kernel.Gap, 22.5, 10, 55) // gaps 990 and 1055 for 1000
	check("kernel stamp", c.Kernel.Stamp, 16.667, 5, 40)
	check("app ttft", c.App.TTFT, 30, 20, 20)
	check("app gap", c.App.Gap, 30, 20, 40)
	check("app stamp", c.App.Stamp, 56.667, 40, 80)
	if c.ReadLag.P50 != 40 || c.ReadLag.Max != 55 {
		t.Errorf("read lag %+v, want p50 40, max 55", *c.ReadLag)
	}
}

func TestCompareLeavesOutWhatIsUnknown(t *testing.T) {
	lines := []truthLine{{"r", "text", us(1000), us(1010)}, {"r", "text", us(1500), us(1510)}}
	r := &stream.Record{RequestID: "r", Start: time.Unix(0, us(0)), Stamp: stream.StampSocket, StampWhy: "a reason",
		Reads:  []stream.Read{{App: 1600 * time.Microsecond}},
		Events: []stream.Event{{Kind: stream.KindText, Read: 1, Arrival: 1}, {Kind: stream.KindText, Read: 1, Arrival: 1}}}
	c := compare([]*stream.Record{r}, map[string][]truthLine{"r": lines})
	switch {
	case c.Merged != 1:
		t.Errorf("%d outputs merged, want 1", c.Merged)
	case c.Kernel != nil || c.ReadLag != nil:
		t.Errorf("kernel figures without kernel stamps: %+v %+v", c.Kernel, c.ReadLag)
	case c.App.Gap != nil:
		t.Errorf("a gap inside an arrival was measured: %+v", c.App.Gap)
	case len(c.Refused) != 1 || c.Refused[0] != (report.StampRefusal{Why: "a reason", Streams: 1}):
		t.Errorf("refusals %+v", c.Refused)
	}
}

func TestCalibrateOptions(t *testing.T) {
	if err := (CalibrateOptions{}).Validate(); err != nil {
		t.Error(err)
	}
	for _, o := range []CalibrateOptions{{Streams: -1}, {Streams: 100_000}, {Rate: -1}, {Rate: 1e9}, {Duration: time.Millisecond},
		{Duration: 2 * time.Hour}, {Rate: 9000, Duration: time.Hour}} {
		if o.Validate() == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestReadTruthNamesTheLine(t *testing.T) {
	good := `{"request_id":"a","event_seq":1,"kind":"text","bytes":3,"before_unix_ns":1,"after_unix_ns":2}` + "\n"
	got, err := readTruth(strings.NewReader(good + good))
	if err != nil || len(got["a"]) != 2 || got["a"][1].After != 2 {
		t.Errorf("%v %v", got, err)
	}
	if _, err := readTruth(strings.NewReader(good + "{torn")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a torn line: %v", err)
	}
}
