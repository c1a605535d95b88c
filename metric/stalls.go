package metric

import "weir/stat"

var stallMetrics = []Metric{
	{Name: "stall_count", Unit: "count", JSON: "stall_count", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.stalls.count },
		Doc: "gaps over 1000 ms, the open gap included, phase gaps left out"},
	{Name: "stall_rate", Unit: "share", JSON: "stall_rate", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.stalls.rate },
		Doc: "stall_count ÷ known gaps, the open gap being one of them"},
	{Name: "stall_time", Unit: "ms", JSON: "stall_time_ms", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.stalls.time },
		Doc: "total length of the stalls"},
	{Name: "stall_at", Unit: "events", JSON: "stall_at_events", Basis: Rhythm, Optional: true, of: func(v *view) Value { return v.stalls.at },
		Doc: "business events before the longest stall"},
}

type stalls struct{ count, rate, time, at Value }

// stalled is missing as a whole where no gap is known.
func (v *view) stalled() stalls {
	gaps := v.rhythm.stallable()
	if len(gaps) == 0 {
		return stalls{}
	}
	n, total, longest := 0, 0.0, Gap{}
	for _, g := range gaps {
		if g.Length() <= StallAfter {
			continue
		}
		n++
		total += ms(g.Length())
		if g.Length() > longest.Length() {
			longest = g
		}
	}
	s := stalls{count: stat.At(float64(n)), rate: stat.At(float64(n) / float64(len(gaps))), time: stat.At(total)}
	if n > 0 {
		s.at = stat.At(float64(longest.After))
	}
	return s
}
