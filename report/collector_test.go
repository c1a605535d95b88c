package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/metric"
	"weir/stream"
	"weir/table"
)

func sampleIDs(s *Series) []string {
	var ids []string
	for _, t := range s.kept {
		ids = append(ids, t.id)
	}
	slices.Sort(ids)
	return ids
}

// TestCollectorIsBounded: the sample keeps to its limit, says what it dropped,
// and does not depend on the order.
func TestCollectorIsBounded(t *testing.T) {
	l := newLoad()
	for i := range 300 {
		l.send(time.Duration(i)*100*ms, "peak", "plain_qa", 20+i%30)
	}
	forward, backward := NewCollector(2000), NewCollector(2000)
	events := 0
	for i, r := range l.records {
		events += len(r.Events)
		forward.Add(r)
		backward.Add(l.records[len(l.records)-1-i])
	}
	a, b := forward.Series(), backward.Series()
	if a.keptEvents > 2000 || a.keptEvents < 1900 || a.events != events || a.streams != 300 {
		t.Errorf("kept %d of %d events (%d), %d streams", a.keptEvents, a.events, events, a.streams)
	}
	if !slices.Equal(sampleIDs(a), sampleIDs(b)) || a.gaps != b.gaps {
		t.Error("the sample depends on the order")
	}
	if len(a.slow) != worstKept || len(a.failed) != 0 {
		t.Errorf("%d slow, %d failed", len(a.slow), len(a.failed))
	}
	for i, x := range a.slow {
		if b.slow[i].id != x.id {
			t.Errorf("worst %d is %s and %s", i, x.id, b.slow[i].id)
		}
	}
}

func TestCollectorCountsEveryGap(t *testing.T) {
	l := newLoad()
	c := NewCollector(1)
	gaps := 0
	for i := range 40 {
		l.send(time.Duration(i)*100*ms, "peak", "plain_qa", 30)
	}
	for _, r := range l.records {
		c.Add(r)
		for _, g := range metric.Observe(r).Gaps {
			if g.Phase == "" && !g.Open {
				gaps++
			}
		}
	}
	s := c.Series()
	if s.gaps.N != gaps || len(s.kept) != 1 {
		t.Errorf("%d gaps, want %d; %d streams kept", s.gaps.N, gaps, len(s.kept))
	}
	_, counts := s.gaps.edges()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	if sum != gaps {
		t.Errorf("the bins hold %d", sum)
	}
}

// TestWorstAreOfBothKinds: refused requests do not hide the slow ones.
func TestWorstAreOfBothKinds(t *testing.T) {
	c := NewCollector(0)
	l := newLoad()
	for i := range 100 {
		a := l.send(time.Duration(i)*100*ms, "peak", "plain_qa", 12)
		if i%2 == 0 {
			l.fail(a, stream.ErrorEarly, "refused")
		}
		c.Add(a.r)
	}
	failed := 0
	list := c.Series().worstOf()
	for _, x := range list {
		if x.failed {
			failed++
		}
	}
	if len(list) != worstKept || failed != worstKept/2 {
		t.Errorf("%d of %d failed", failed, len(list))
	}
}

func TestCollectorIsSafe(t *testing.T) {
	l := newLoad()
	for i := range 64 {
		l.send(time.Duration(i)*100*ms, "peak", "plain_qa", 20)
	}
	c := NewCollector(500)
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := k; i < len(l.records); i += 8 {
				c.Add(l.records[i])
				c.Series()
			}
		})
	}
	wg.Wait()
	if s := c.Series(); s.streams != 64 {
		t.Errorf("%d streams", s.streams)
	}
}

// TestTraceReadsBack: the steps and letters give the events again.
func TestTraceReadsBack(t *testing.T) {
	r := newLoad().send(0, "peak", "退款", 40).r
	raw, err := json.Marshal(traceOf(r, glanceAt(r)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Steps []int64
		Kinds string
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for i, step := range got.Steps {
		at += step
		if want := r.Events[i].At.Microseconds() / 100; at != want || got.Kinds[i] != kindLetters[r.Events[i].Kind] {
			t.Fatalf("event %d at %d as %c, want %d as %s", i, at, got.Kinds[i], want, r.Events[i].Kind)
		}
	}
	if len(got.Steps) != len(r.Events) || len(kindLetters) != int(stream.KindDone)+1 {
		t.Errorf("%d events of %d", len(got.Steps), len(r.Events))
	}
}

// TestOverTime: what the pictures spread over time is all there.
func TestOverTime(t *testing.T) {
	r := mixedRun()
	rows := r.rows()
	o := overTimeOf(rows, r.start())
	starts, tokens, want := 0.0, 0.0, 0.0
	for i := range o.T {
		starts += o.Starts[i] * o.Step
		if o.Tokens[i] != nil {
			tokens += *o.Tokens[i] * o.Step
		}
	}
	sent := 0
	for i := range rows {
		if rows[i].Outcome != stream.Dropped {
			sent++
		}
		if x, ok := rows[i].Values.Get("tokens").Get(); ok {
			want += x
		}
	}
	if math.Abs(starts-float64(sent)) > 0.01 || math.Abs(tokens-want) > 1 {
		t.Errorf("%.1f starts of %d, %.1f tokens of %.0f", starts, sent, tokens, want)
	}
	most := slices.Max(o.Active)
	if most < 20 || most > 120 {
		t.Errorf("at most %d active", most)
	}
	if overTimeOf(nil, r.start()) != nil {
		t.Error("a picture of nothing")
	}
}

// TestCurveEndsAtTheShareReached: what never came keeps the curve below 1.
func TestCurveEndsAtTheShareReached(t *testing.T) {
	l := newLoad()
	for i := range 10 {
		a := l.send(time.Duration(i)*ms, "peak", "plain_qa", 12)
		if i < 4 {
			l.fail(a, stream.ErrorEarly, "refused")
		}
	}
	c, ok := curveOf(table.Rows(l.records), "ttft")
	if !ok || c.N != 10 || c.Reached != 6 || c.Y[len(c.Y)-1] != 0.6 || !slices.IsSorted(c.X) {
		t.Errorf("%+v", c)
	}
}

func TestStepOf(t *testing.T) {
	for _, c := range []struct {
		span float64
		n    int
		want float64
	}{{60, 240, 0.5}, {240, 240, 1}, {0, 240, 0.1}, {3600, 240, 20}, {7, 1, 10}} {
		if got := stepOf(c.span, c.n); math.Abs(got-c.want) > 1e-9 {
			t.Error(fmt.Sprint(c, got))
		}
	}
}
