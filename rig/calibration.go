package rig

import (
	"cmp"
	"math"
	"slices"
	"time"

	"weir/report"
	"weir/stat"
	"weir/stream"
)

// compare holds records against the truth of their requests.
func compare(records []*stream.Record, truth map[string][]truthLine) *report.Calibration {
	c := &report.Calibration{Refused: []report.StampRefusal{}}
	var kernel, app tally
	var lags []float64
	refused := map[string]int{}
	for _, r := range records {
		lines := truth[r.RequestID]
		pairs, lost, wrong := align(r.Events, lines)
		c.Events, c.Lost, c.Misclassified = c.Events+len(lines), c.Lost+lost, c.Misclassified+wrong
		c.Merged += merged(pairs)
		app.add(r, pairs, func(rd stream.Read) time.Duration { return rd.App })
		if r.Stamp == stream.StampKernel {
			c.KernelStreams++
			kernel.add(r, pairs, func(rd stream.Read) time.Duration { return rd.Kernel.Or(rd.App) })
		} else {
			refused[r.StampWhy]++
		}
		for _, rd := range r.Reads {
			if lag, ok := rd.Lag().Get(); ok {
				lags = append(lags, micros(int64(lag)))
			}
		}
	}
	c.App, c.Kernel, c.Refused = app.errors(), kernel.errors(), refusals(refused)
	if len(lags) > 0 {
		q := quantiles(lags)
		c.ReadLag = &q
	}
	return c
}

// merged counts the outputs that came in one read with a later output.
func merged(pairs []pair) (n int) {
	last := 0
	for _, p := range pairs {
		if !p.e.Kind.Business() {
			continue
		}
		if p.e.Read == last && last > 0 {
			n++
		}
		last = p.e.Read
	}
	return n
}

func refusals(count map[string]int) []report.StampRefusal {
	out := []report.StampRefusal{}
	for why, n := range count {
		out = append(out, report.StampRefusal{Why: why, Streams: n})
	}
	slices.SortFunc(out, func(a, b report.StampRefusal) int {
		return cmp.Or(b.Streams-a.Streams, cmp.Compare(a.Why, b.Why))
	})
	return out
}

// pair is an event and its truth.
type pair struct {
	e *stream.Event
	t truthLine
}

// align pairs events with the truth in order. An event that is missing is
// lost; one of another kind, or one too many, is misclassified.
func align(events []stream.Event, lines []truthLine) (pairs []pair, lost, wrong int) {
	i := 0
	for _, t := range lines {
		if i == len(events) {
			lost++
			continue
		}
		e := &events[i]
		missing := len(lines) - lost - len(pairs) - wrong - (len(events) - i)
		if e.Kind.String() != t.Kind {
			if missing > 0 {
				lost++
				continue
			}
			wrong++
			i++
			continue
		}
		pairs = append(pairs, pair{e, t})
		i++
	}
	return pairs, lost, wrong + len(events) - i
}

// tally gathers the errors of one kind of stamp, in microseconds.
type tally struct{ ttft, gap, stamp sizes }

type sizes struct{ size, bias []float64 }

func (s *sizes) add(size, bias int64) {
	s.size, s.bias = append(s.size, micros(size)), append(s.bias, micros(bias))
}

func (t *tally) add(r *stream.Record, pairs []pair, stampOf func(stream.Read) time.Duration) {
	t0 := r.Start.UnixNano()
	var last *pair
	var lastAt int64
	for i := range pairs {
		p := &pairs[i]
		if p.e.Read == 0 {
			continue
		}
		at := t0 + int64(stampOf(r.Reads[p.e.Read-1]))
		off := distance(at, p.t)
		t.stamp.add(off, at-p.t.Before)
		if !p.e.Kind.Business() {
			continue
		}
		switch {
		case last == nil:
			t.ttft.add(off, at-p.t.Before)
		case last.e.Arrival != p.e.Arrival: // inside an arrival a gap is unknown
			diff := (at - lastAt) - (p.t.Before - last.t.Before)
			t.gap.add(max(diff, -diff), diff)
		}
		last, lastAt = p, at
	}
}

// distance is how far a stamp lies outside of the write it stands for.
func distance(at int64, t truthLine) int64 {
	return max(0, t.Before-at, at-t.After)
}

func (t *tally) errors() *report.StampErrors {
	if len(t.stamp.size) == 0 {
		return nil
	}
	return &report.StampErrors{TTFT: t.ttft.spread(), Gap: t.gap.spread(), Stamp: t.stamp.spread()}
}

func (s *sizes) spread() *report.Errors {
	if len(s.size) == 0 {
		return nil
	}
	sum := 0.0
	for _, b := range s.bias {
		sum += b
	}
	return &report.Errors{Bias: round3(sum / float64(len(s.bias))), ErrorSizes: quantiles(s.size)}
}

// quantiles sorts xs, which is not empty.
func quantiles(xs []float64) report.ErrorSizes {
	slices.SortFunc(xs, cmp.Compare[float64])
	p50, _ := stat.Quantile(xs, stat.Fraction{A: 1, B: 2})
	p99, _ := stat.Quantile(xs, stat.Fraction{A: 99, B: 100})
	return report.ErrorSizes{P50: round3(p50), P99: round3(p99), Max: round3(xs[len(xs)-1])}
}

func micros(ns int64) float64  { return float64(ns) / 1e3 }
func round3(x float64) float64 { return math.Round(x*1e3) / 1e3 }
