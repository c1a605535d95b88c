package telemetry

import (
	"slices"
	"time"

	"weir/metric"
	"weir/stream"
)

// answer is what the histograms take of a request: seconds and tokens, in
// each slice only what is known.
type answer struct {
	outcome   stream.Outcome
	dialect   string
	model     string
	duration  []float64
	ttft      []float64 // first output of the first answer to speak
	firstText []float64
	gaps      []float64 // between arrivals with output, tools and stages left out
	chunks    []float64 // the same with them: OpenTelemetry knows no phases
	input     []float64
	output    []float64
	cached    []float64
	reasoning []float64
}

// read makes an answer of a request's records.
func read(e stream.Served) answer {
	a := answer{outcome: stream.Unknown}
	for i, r := range e.Records {
		if i == 0 {
			a.outcome, a.dialect, a.model = r.Outcome, r.Dialect, r.Model
		}
		a.outcome = stream.Worst(a.outcome, r.Outcome)
		a.duration = latest(a.duration, r.End)
		a.addUsage(r.Usage)
		if e.Streamed {
			a.addTimes(r)
		}
	}
	return a
}

func (a *answer) addTimes(r *stream.Record) {
	ttft, firstText, rhythm := metric.Glance(r)
	a.ttft = earliest(a.ttft, ttft)
	a.firstText = earliest(a.firstText, firstText)
	a.chunks, a.gaps = slices.Grow(a.chunks, len(rhythm.Gaps)), slices.Grow(a.gaps, len(rhythm.Gaps))
	for _, g := range rhythm.Gaps {
		if g.Open {
			continue // only known to exceed its length
		}
		a.chunks = append(a.chunks, g.Length().Seconds())
		if g.Phase == "" {
			a.gaps = append(a.gaps, g.Length().Seconds())
		}
	}
}

// addUsage takes the accounting once: the answers of a request share it.
func (a *answer) addUsage(u *stream.Usage) {
	if u == nil || u.Seed || a.input != nil || a.output != nil {
		return
	}
	a.input, a.output = known(u.Input), known(u.Output)
	a.cached, a.reasoning = known(u.Cached), known(u.Reasoning)
}

func known(n stream.Maybe[int]) []float64 {
	if v, ok := n.Get(); ok {
		return []float64{float64(v)}
	}
	return nil
}

// earliest keeps the smaller of what is there and a metric in ms.
func earliest(s []float64, v metric.Value) []float64 {
	if v.Is != metric.Reached {
		return s
	}
	seconds := v.V / 1000
	if len(s) == 0 || seconds < s[0] {
		return []float64{seconds}
	}
	return s
}

func latest(s []float64, d stream.Maybe[time.Duration]) []float64 {
	v, ok := d.Get()
	if !ok || len(s) > 0 && s[0] >= v.Seconds() {
		return s
	}
	return []float64{v.Seconds()}
}
