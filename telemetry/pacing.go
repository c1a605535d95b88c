package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pacingMetrics tell what the gateway itself adds to a stream's rhythm.
type pacingMetrics struct {
	delay, rhythm, limited *prometheus.HistogramVec
}

func newPacing(f factory) pacingMetrics {
	return pacingMetrics{
		delay:   f.histogram("weir_gateway_pacing_delay_seconds", "how long pacing held a piece of text back, of all pieces on routes that pace", addedLadder, "route"),
		rhythm:  f.histogram("weir_gateway_pacing_gap_stddev_seconds", "standard deviation of the gaps of a paced stream's text: before (as it came) and after pacing", gapLadder, "route", "side"),
		limited: f.histogram("weir_gateway_output_wait_seconds", "how long an event waited for its key's output rate, of those that waited", waitLadder, "route"),
	}
}

// Paced counts a piece of text of a paced stream.
func (g *Gateway) Paced(route string, delay time.Duration) {
	v, ok := g.paced.Load(route)
	if !ok {
		v, _ = g.paced.LoadOrStore(route, g.pacing.delay.WithLabelValues(route))
	}
	v.(prometheus.Observer).Observe(delay.Seconds())
}

// Rhythm counts a paced stream that ended.
func (g *Gateway) Rhythm(route string, before, after time.Duration) {
	g.pacing.rhythm.WithLabelValues(route, "before").Observe(before.Seconds())
	g.pacing.rhythm.WithLabelValues(route, "after").Observe(after.Seconds())
}

// Limited counts an event that waited for its key's output rate.
func (g *Gateway) Limited(route string, wait time.Duration) {
	g.pacing.limited.WithLabelValues(route).Observe(wait.Seconds())
}
