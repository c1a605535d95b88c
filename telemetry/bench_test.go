package telemetry

import (
	"testing"
	"time"

	"weir/stream"
)

// What the end of a stream of 250 events costs.
func BenchmarkEnded(b *testing.B) {
	var at []time.Duration
	for i := range 250 {
		at = append(at, time.Duration(200+20*i)*ms+time.Duration(i*7919%1000)*time.Microsecond)
	}
	g, e := NewGateway(Options{}), ended(record(stream.Complete, "m", at...))
	b.ReportAllocs()
	for b.Loop() {
		g.Started("/v1/*")
		g.Ended(e)
	}
}
