package metric

import (
	"time"

	"weir/stat"
)

// The shapes of a stream (METRICS §6); the first that holds.
const (
	Single    = "single"
	Short     = "short"
	Bursty    = "bursty"
	Stalled   = "stalled"
	SlowStart = "slow_start"
	Steady    = "steady"
)

// The choices the shapes rest on.
const (
	shortBelow = 10                     // business events
	burstPause = 200 * time.Millisecond // a gap that counts for bursty
)

// shape looks at the known gaps only: phases and the open end are no rhythm.
func (v *view) shape() string {
	gaps := v.gaps
	span := sumOf(gaps).V
	switch {
	case !v.spoke():
		return ""
	case len(v.rhythm.Bursts) == 1:
		return Single
	case len(v.business) < shortBelow:
		return Short
	case span <= 0:
		return Steady // every gap holds a phase
	case v.batchShare() >= 0.5 && sumAbove(gaps, ms(burstPause)) >= span/2:
		return Bursty
	case sumAbove(gaps, stallBar(gaps)) >= span/10:
		return Stalled
	case v.quarter() >= span/2:
		return SlowStart
	}
	return Steady
}

func sumAbove(xs lengths, bar float64) float64 {
	sum := 0.0
	for _, x := range xs {
		if x > bar {
			sum += x
		}
	}
	return sum
}

func stallBar(gaps lengths) float64 {
	return max(ms(StallAfter), 5*gaps.quantile(stat.P50).V)
}

// quarter is the time, in known gaps, that the first quarter of the business
// events took.
func (v *view) quarter() float64 {
	events := (len(v.business) + 3) / 4
	sum := 0.0
	for _, g := range v.rhythm.Gaps {
		if g.After < events && g.Phase == "" && !g.Open {
			sum += ms(g.Length())
		}
	}
	return sum
}
