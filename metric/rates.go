package metric

import (
	"time"

	"weir/stat"
	"weir/stream"
)

var rateMetrics = []Metric{
	{Name: "rate_e2e", Unit: "tok/s", JSON: "rate_e2e_tps", Better: Higher, Basis: Rate, of: (*view).rateE2E,
		Doc: "T / (t_last − t0): what the user lives through"},
	{Name: "rate_stream", Unit: "tok/s", JSON: "rate_stream_tps", Better: Higher, Basis: Rate, of: (*view).rateStream,
		Doc: "(T − 1) / (t_last − t_first): the usual formula, biased where the first arrival holds more than one token"},
	{Name: "rate_decode", Unit: "tok/s", JSON: "rate_decode_tps", Better: Higher, Basis: Rate, of: (*view).rateDecode,
		Doc: "(T − k1) / (t_last − t_first): unbiased"},
	{Name: "tpot", Unit: "ms", JSON: "tpot_ms", Better: Lower, Basis: Rate, of: (*view).tpot,
		Doc: "time per output token: the inverse of rate_decode"},
	{Name: "cps_e2e", Unit: "char/s", JSON: "cps_e2e", Better: Higher, Basis: Rate, of: func(v *view) Value { return v.prose.e2e() },
		Doc: "characters of the answer text / (last text − t0)"},
	{Name: "cps_stream", Unit: "char/s", JSON: "cps_stream", Better: Higher, Basis: Rate, of: func(v *view) Value { return v.prose.stream() },
		Doc: "(characters − 1) / (last text − first text)"},
	{Name: "cps_decode", Unit: "char/s", JSON: "cps_decode", Better: Higher, Basis: Rate, of: func(v *view) Value { return v.prose.decode() },
		Doc: "(characters − those of the first text arrival) / (last text − first text)"},
}

// flow is an amount that came between two arrivals.
type flow struct {
	total, first Value         // in all; in the first arrival
	from, to     time.Duration // first and last of its events
	several      bool          // there are at least two arrivals
}

func (f flow) e2e() Value {
	if f.total.Is != Reached || f.to <= 0 {
		return Value{}
	}
	return stat.At(f.total.V / f.to.Seconds())
}

// stream needs two arrivals and more in all than in the first. Where the
// first's share is unknown, two arrivals and more than one say as much.
func (f flow) stream() Value {
	least := 1.0
	if f.first.Is == Reached {
		least = max(least, f.first.V)
	}
	return f.over(1, least)
}

func (f flow) decode() Value {
	if f.first.Is != Reached {
		return Value{}
	}
	return f.over(f.first.V, f.first.V)
}

func (f flow) over(less, least float64) Value {
	if !f.several || f.to <= f.from || f.total.Is != Reached || f.total.V <= least {
		return Value{}
	}
	return stat.At((f.total.V - less) / (f.to - f.from).Seconds())
}

// outputFlow is the flow of tokens over the last attempt's business arrivals.
func (v *view) outputFlow() flow {
	f := v.span(func(e *stream.Event) bool { return e.Kind.Business() })
	f.total, f.first = v.tokens.total, v.tokens.k1
	return f
}

// proseFlow is the flow of answer characters over the last attempt's text arrivals.
func (v *view) proseFlow() flow {
	text := func(e *stream.Event) bool { return e.Kind == stream.KindText }
	f := v.span(text)
	f.total = sumText(v.last, charsOf)
	n, first := 0, (*stream.Event)(nil)
	for i := range v.last {
		e := &v.last[i]
		if !text(e) {
			continue
		}
		if first == nil {
			first = e
		}
		if !together(v.r, first, e) {
			break
		}
		n += e.Chars.Or(0) // f.total is missing if one of them lacks it
	}
	if f.total.Is == Reached && first != nil {
		f.first = stat.At(float64(n))
	}
	return f
}

// span finds the first and last arrival of the chosen events of the last attempt.
func (v *view) span(choose func(*stream.Event) bool) flow {
	var first, last *stream.Event
	for i := range v.last {
		if e := &v.last[i]; choose(e) {
			if first == nil {
				first = e
			}
			last = e
		}
	}
	if first == nil {
		return flow{}
	}
	return flow{
		from: first.At, to: last.At,
		several: !v.r.Whole && !together(v.r, first, last),
	}
}

func (v *view) rateE2E() Value    { return v.output.e2e() }
func (v *view) rateStream() Value { return v.output.stream() }
func (v *view) rateDecode() Value { return v.output.decode() }

func (v *view) tpot() Value {
	rate, ok := v.rateDecode().Get()
	if !ok {
		return Value{}
	}
	return stat.At(1000 / rate)
}
