package metric

import (
	"time"

	"weir/stat"
	"weir/stream"
)

var instrumentMetrics = []Metric{
	{Name: "lateness", Unit: "ms", JSON: "lateness_ms", Better: Lower, Basis: Fact, of: func(v *view) Value { return msOf(v.r.Lateness) },
		Doc: "sent minus scheduled"},
	{Name: "read_lag", Unit: "ms", JSON: "read_lag_ms", Better: Lower, Basis: Fact, of: func(v *view) Value { return longestRead(v.r, stream.Read.Lag) },
		Doc: "longest wait of a read's newest byte in the kernel: application minus kernel stamp"},
	{Name: "lag_max", Unit: "ms", JSON: "lag_max_ms", Better: Lower, Basis: Fact, of: func(v *view) Value {
		return longestRead(v.r, func(r stream.Read) stream.Maybe[time.Duration] { return r.LagMax })
	},
		Doc: "the most a read's oldest byte can have waited for us"},
}

func longestRead(r *stream.Record, of func(stream.Read) stream.Maybe[time.Duration]) Value {
	longest := Value{}
	for _, read := range r.Reads {
		d, ok := of(read).Get()
		if ok && (longest.Is == Missing || ms(d) > longest.V) {
			longest = stat.At(ms(d))
		}
	}
	return longest
}
