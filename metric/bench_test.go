package metric

import (
	"testing"

	"weir/stream"
)

// BenchmarkMeasure: one record of 500 output events.
func BenchmarkMeasure(b *testing.B) {
	r := newRecord(stream.Complete, 20_000)
	for i := range 500 {
		e := text(4)
		e.Tokens = stream.Some(1)
		r.add(200+20*float64(i), e)
	}
	b.ReportAllocs()
	for b.Loop() {
		Measure(&r.r)
	}
}
