package telemetry

import "time"

// Configured tells that a configuration is in force since at: the first one, at
// the start.
func (g *Gateway) Configured(at time.Time) {
	g.own.reloaded.WithLabelValues().Set(1)
	g.own.configured.WithLabelValues().Set(float64(at.UnixMilli()) / 1000)
	for _, result := range []string{takenUp, refused} {
		g.own.reloads.WithLabelValues(result) // so that the first is an increase
	}
}

// The results of reading a configuration anew.
const (
	takenUp = "taken_up"
	refused = "refused"
)

// Reloaded counts a configuration that was read while the gateway ran; with an
// error it was refused, and the one before stays.
func (g *Gateway) Reloaded(at time.Time, err error) {
	if err != nil {
		g.own.reloads.WithLabelValues(refused).Inc()
		g.own.reloaded.WithLabelValues().Set(0)
		return
	}
	g.own.reloads.WithLabelValues(takenUp).Inc()
	g.Configured(at)
}
