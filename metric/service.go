package metric

import (
	"slices"
	"time"

	"weir/stat"
	"weir/stream"
)

var serviceMetrics = slices.Concat(
	family("service_gap", Lower, "gaps between business events by the service's own stamps", func(v *view) lengths { return v.serviceGaps }),
	[]Metric{
		{Name: "service_gap_max", Unit: "ms", JSON: "service_gap_max_ms", Better: Lower, Basis: Rhythm, of: func(v *view) Value { return v.serviceGaps.longest() },
			Doc: "longest gap between business events by the service's own stamps"},
		{Name: "service_rate_stream", Unit: "tok/s", JSON: "service_rate_stream_tps", Better: Higher, Basis: Rate, of: func(v *view) Value { return v.served.stream() },
			Doc: "rate_stream by the service's own stamps"},
		{Name: "service_rate_decode", Unit: "tok/s", JSON: "service_rate_decode_tps", Better: Higher, Basis: Rate, of: func(v *view) Value { return v.served.decode() },
			Doc: "rate_decode by the service's own stamps"},
	},
)

// ServiceSeries reads the series by the service's stamps; false unless every
// business event has one and they never fall. Equal stamps are one burst: the
// time between them is below what the service can tell.
func ServiceSeries(r *stream.Record) (Series, bool) {
	last, any := time.Duration(0), false
	for i := range r.Events {
		e := &r.Events[i]
		if !e.Kind.Business() {
			continue
		}
		at, ok := e.ServiceTime.Get()
		if !ok || any && at < last {
			return Series{}, false
		}
		last, any = at, true
	}
	if !any || r.Whole {
		return Series{}, false
	}
	return observe(r, clock{
		at:       func(e *stream.Event) time.Duration { return e.ServiceTime.Or(0) },
		together: func(a, b *stream.Event) bool { return a.ServiceTime == b.ServiceTime },
	}), true
}

// serviceFlow is the last attempt's flow of tokens by the service's stamps.
func (v *view) serviceFlow() flow {
	if !v.stamped {
		return flow{}
	}
	f := flow{total: v.tokens.total}
	n, counted, any := 0, true, false
	for i := range v.last {
		e := &v.last[i]
		if !e.Kind.Business() {
			continue
		}
		at := e.ServiceTime.Or(0)
		if !any {
			f.from, any = at, true
		}
		if at == f.from {
			k, ok := e.Tokens.Get()
			n, counted = n+k, counted && ok
		}
		f.to = at
	}
	f.several = f.to > f.from
	if any && counted && n > 0 {
		f.first = stat.At(float64(n))
	}
	return f
}
