package diagnose

import (
	"slices"

	"weir/stat"
)

// timeRule is a sender that flushes by a timer.
type timeRule struct {
	period float64 // ms
	holds  bool
	tight  bool // as even as a clock, not as work that takes about as long each time
}

// fitPeriod looks for one period that explains the times between flushes.
//
// A timer that runs all the time gives the period itself, or a multiple where
// nothing came. One that starts with the first byte it holds gives the period
// and the wait for that byte: a sharp floor, above which the times lie one gap
// of the source on average (gap, in ms). What waits for a number of bytes or
// events has no such floor: its times scatter by √events gaps.
func fitPeriod(between []float64, gap float64) timeRule {
	if len(between) < minPeriods {
		return timeRule{}
	}
	best := window(between)
	if p, _ := median(best); float64(len(best)) >= agree*float64(len(between)) {
		slices.Sort(best)
		lo, _ := stat.Quantile(best, stat.Fraction{A: 10, B: 100})
		hi, _ := stat.Quantile(best, stat.P90)
		if hi-lo <= tightSpread*p {
			return timeRule{period: p, holds: true, tight: true}
		}
		return timeRule{period: lo, holds: true} // the wait for the first byte is in the others
	}
	sorted := slices.Clone(between)
	slices.Sort(sorted)
	floor := sorted[len(sorted)/10]
	over := 0.0
	for _, d := range sorted {
		over += max(0, d-floor)
	}
	over /= float64(len(sorted))
	return timeRule{period: floor, holds: floor > gap && over <= floorExcess*gap}
}

const (
	minPeriods  = 4    // times between flushes that can show a period
	tightSpread = 0.03 // p90 − p10 of the times, of the period
	floorExcess = 1.6  // gaps of the source that the times may lie above their floor on average
)

// window is the times that lie near one period or a small multiple, divided by
// that multiple: the most that any period explains. Most must be the period
// itself, or its half and third would explain as much.
func window(between []float64) []float64 {
	var best []float64
	for _, p := range between {
		var in []float64
		itself := 0
		for _, d := range between {
			for k := 1.0; k <= 3; k++ {
				if d/k >= 0.95*p-2 && d/k <= 1.12*p+2 {
					in = append(in, d/k)
					if k == 1 {
						itself++
					}
					break
				}
			}
		}
		if len(in) > len(best) && 2*itself > len(in) {
			best = in
		}
	}
	return best
}
