package diagnose

import "slices"

// timeRule is a sender that flushes by a timer.
type timeRule struct {
	period float64 // ms
	holds  bool
}

// fitPeriod looks for one period that explains the times between flushes. A
// timer that runs all the time gives the period itself (or a multiple, where
// nothing came); one that starts with the first byte it holds gives the period
// and the wait for that byte, so that the window is wider above than below.
func fitPeriod(between []float64) timeRule {
	var best []float64
	for _, p := range between {
		var in []float64
		for _, d := range between {
			for k := 1.0; k <= 3; k++ {
				if d/k >= 0.95*p-2 && d/k <= 1.12*p+2 {
					in = append(in, d/k)
					break
				}
			}
		}
		if len(in) > len(best) {
			best = in
		}
	}
	slices.Sort(best)
	period, ok := median(best)
	return timeRule{period: period, holds: ok && len(between) >= 4 && float64(len(best)) >= agree*float64(len(between))}
}
