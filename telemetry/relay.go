package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// relayMetrics are of the Redis that instances share their streams in; absent
// where there is none.
type relayMetrics struct {
	up, queued, followers *prometheus.GaugeVec
	took                  *prometheus.HistogramVec
	streams, entries      *prometheus.CounterVec
	bytes, dropped, lost  *prometheus.CounterVec
}

func newRelay(f factory) relayMetrics {
	return relayMetrics{
		up:        f.gauge("weir_relay_up", "1 while Redis can be reached"),
		queued:    f.gauge("weir_relay_queued_bytes", "bytes of events that are not in Redis yet"),
		followers: f.gauge("weir_relay_followers", "clients here that follow streams in Redis"),
		took:      f.histogram("weir_relay_append_seconds", "one exchange that brings events to Redis", addedLadder),
		streams:   f.counter("weir_relay_appended_streams_total", "streams of which an exchange brought events, once per exchange"),
		entries:   f.counter("weir_relay_appended_events_total", "events brought to Redis"),
		bytes:     f.counter("weir_relay_appended_bytes_total", "bytes of those"),
		dropped:   f.counter("weir_relay_dropped_events_total", "events that never came to Redis: a gap elsewhere", "reason"),
		lost:      f.counter("weir_relay_lost_events_total", "events that Redis had taken and lost, as in a failover; they are written again from memory, or dropped"),
	}
}

// RelayUp notes whether Redis can be reached.
func (g *Gateway) RelayUp(up bool) {
	v := 0.0
	if up {
		v = 1
	}
	g.relay.up.WithLabelValues().Set(v)
}

// RelayAppended counts an exchange with Redis.
func (g *Gateway) RelayAppended(streams, entries, bytes int, took time.Duration) {
	g.relay.took.WithLabelValues().Observe(took.Seconds())
	g.relay.streams.WithLabelValues().Add(float64(streams))
	g.relay.entries.WithLabelValues().Add(float64(entries))
	g.relay.bytes.WithLabelValues().Add(float64(bytes))
}

// RelayQueued notes how much is on its way to Redis.
func (g *Gateway) RelayQueued(bytes int64) { g.relay.queued.WithLabelValues().Set(float64(bytes)) }

// RelayDropped counts what never came to Redis.
func (g *Gateway) RelayDropped(events int64, reason string) {
	g.relay.dropped.WithLabelValues(reason).Add(float64(max(events, 0)))
}

// RelayLost counts what Redis had taken and lost.
func (g *Gateway) RelayLost(events int64) {
	g.relay.lost.WithLabelValues().Add(float64(max(events, 0)))
}

// RelayFollowing notes how many clients follow streams in Redis.
func (g *Gateway) RelayFollowing(readers int) {
	g.relay.followers.WithLabelValues().Set(float64(readers))
}
