package metric

import (
	"weir/stat"
	"weir/stream"
)

var batchMetrics = []Metric{
	{Name: "business_events", Unit: "events", JSON: "business_events", Basis: Fact, of: func(v *view) Value { return v.counted(len(v.business)) },
		Doc: "text, reasoning, tool and media events"},
	{Name: "events", Unit: "events", JSON: "events", Basis: Fact, of: func(v *view) Value { return v.counted(len(v.events)) },
		Doc: "events of every kind"},
	{Name: "heartbeats", Unit: "events", JSON: "heartbeats", Basis: Fact, of: func(v *view) Value { return v.counted(v.countKind(stream.KindHeartbeat)) },
		Doc: "comments, pings, empty deltas"},
	{Name: "other_events", Unit: "events", JSON: "other_events", Basis: Fact, of: func(v *view) Value { return v.counted(v.countKind(stream.KindOther)) },
		Doc: "events nobody recognised"},
	{Name: "arrivals", Unit: "count", JSON: "arrivals", Basis: Rhythm, of: func(v *view) Value { return v.whereSpoke(float64(len(v.rhythm.Bursts))) },
		Doc: "arrivals that held business events"},
	{Name: "batch_share", Unit: "share", JSON: "batch_share", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.whereSpoke(v.batchShare()) },
		Doc: "business events that arrived with another ÷ business events"},
	{Name: "batch_max", Unit: "events", JSON: "batch_max", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.whereSpoke(float64(v.batchMax())) },
		Doc: "most business events in one arrival"},
	{Name: "arrival_bytes_p50", Unit: "bytes", JSON: "arrival_bytes_p50", Basis: Rhythm, of: func(v *view) Value { return sorted(v.burstBytes()).quantile(stat.P50) },
		Doc: "median bytes of the arrivals that held business events"},
	{Name: "arrival_bytes_max", Unit: "bytes", JSON: "arrival_bytes_max", Basis: Rhythm, of: func(v *view) Value { return longestOf(v.burstBytes()) },
		Doc: "most bytes of an arrival that held business events"},
}

// counted is a count over a request that was sent; 0 is then a fact.
func (v *view) counted(n int) Value {
	if v.r.Outcome == stream.Dropped {
		return Value{}
	}
	return stat.At(float64(n))
}

func (v *view) countKind(k stream.Kind) int {
	n := 0
	for i := range v.events {
		if v.events[i].Kind == k {
			n++
		}
	}
	return n
}

func (v *view) whereSpoke(x float64) Value {
	if !v.spoke() {
		return Value{}
	}
	return stat.At(x)
}

func (v *view) batchShare() float64 {
	batched := 0
	for _, b := range v.rhythm.Bursts {
		if b.Events > 1 {
			batched += b.Events
		}
	}
	return float64(batched) / float64(max(1, len(v.business)))
}

func (v *view) batchMax() int {
	most := 0
	for _, b := range v.rhythm.Bursts {
		most = max(most, b.Events)
	}
	return most
}

func (v *view) burstBytes() []float64 {
	var out []float64
	for _, b := range v.rhythm.Bursts {
		if b.Bytes > 0 {
			out = append(out, float64(b.Bytes))
		}
	}
	return out
}
