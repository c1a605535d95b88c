package rig

import (
	"cmp"
	"math"
	"slices"
	"time"

	"weir/stat"
	"weir/stream"
)

// Calibration is what the instrument is worth on this machine. Times are in
// microseconds; null is unknown.
type Calibration struct {
	Streams       int        `json:"streams"`
	Rate          float64    `json:"rate"`
	DurationS     float64    `json:"duration_s"`
	Events        int        `json:"events"` // in the truth log
	Lost          int        `json:"events_lost"`
	Misclassified int        `json:"events_misclassified"`
	KernelStreams int        `json:"kernel_streams"` // streams whose every read bore a good kernel stamp
	Refused       []Refusal  `json:"kernel_refused,omitempty"`
	Kernel        *Errors    `json:"kernel"` // of those streams; null where there is none
	App           *Errors    `json:"app"`    // of every stream
	ReadLag       *Quantiles `json:"read_lag_us"`
	CPUPerEvent   *float64   `json:"cpu_us_per_event"`
	MBPerStream   *float64   `json:"mb_per_stream"`
	Found         Found      `json:"found"`
	Baseline      *Baseline  `json:"baseline,omitempty"`
}

// Refusal is why streams did without kernel stamps, most frequent first.
type Refusal struct {
	Why     string `json:"why"`
	Streams int    `json:"streams"`
}

// Errors are those of one kind of stamp. The error of a stamp is its distance
// from [before, after] of the write, 0 inside; that of a gap is against the gap
// of the befores.
type Errors struct {
	TTFT  *Spread `json:"ttft_error_us"`
	Gap   *Spread `json:"gap_error_us"`
	Stamp *Spread `json:"stamp_error_us"` // of every event, not only the first output
}

// Spread describes errors: their sizes, and the bias, the mean with its sign
// against before.
type Spread struct {
	Bias float64 `json:"bias"`
	Quantiles
}

// Quantiles are nearest-rank.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Found says whether each fault that was injected was recognised.
type Found struct {
	Stall      bool `json:"stall"`
	Truncation bool `json:"truncation"`
	Buffering  bool `json:"buffering"`
}

// Fit reports whether the instrument lost nothing, mistook nothing and
// recognised every fault.
func (c *Calibration) Fit() bool {
	return c.Lost == 0 && c.Misclassified == 0 && c.Found == Found{true, true, true}
}

// compare holds records against the truth of their requests.
func compare(records []*stream.Record, truth map[string][]truthLine) *Calibration {
	c := &Calibration{}
	var kernel, app tally
	var lags []float64
	refused := map[string]int{}
	for _, r := range records {
		lines := truth[r.RequestID]
		pairs, lost, wrong := align(r.Events, lines)
		c.Events, c.Lost, c.Misclassified = c.Events+len(lines), c.Lost+lost, c.Misclassified+wrong
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

func refusals(count map[string]int) (out []Refusal) {
	for why, n := range count {
		out = append(out, Refusal{why, n})
	}
	slices.SortFunc(out, func(a, b Refusal) int {
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

func (t *tally) errors() *Errors {
	if len(t.stamp.size) == 0 {
		return nil
	}
	return &Errors{TTFT: t.ttft.spread(), Gap: t.gap.spread(), Stamp: t.stamp.spread()}
}

func (s *sizes) spread() *Spread {
	if len(s.size) == 0 {
		return nil
	}
	sum := 0.0
	for _, b := range s.bias {
		sum += b
	}
	return &Spread{Bias: round3(sum / float64(len(s.bias))), Quantiles: quantiles(s.size)}
}

// quantiles sorts xs, which is not empty.
func quantiles(xs []float64) Quantiles {
	slices.SortFunc(xs, cmp.Compare[float64])
	p50, _ := stat.Quantile(xs, stat.Fraction{A: 1, B: 2})
	p99, _ := stat.Quantile(xs, stat.Fraction{A: 99, B: 100})
	return Quantiles{P50: round3(p50), P99: round3(p99), Max: round3(xs[len(xs)-1])}
}

func micros(ns int64) float64  { return float64(ns) / 1e3 }
func round3(x float64) float64 { return math.Round(x*1e3) / 1e3 }
func some(x float64) *float64  { x = round3(x); return &x }
