package metric

import (
	"slices"
	"time"

	"weir/stat"
	"weir/stream"
)

// Queue is the name under which a dialect reports, as a stage, the time the
// service says it waited before executing.
const Queue = "queue"

// beforeOutput are the stages that lie before the first output by their
// nature: some services state them only at the end.
var beforeOutput = []string{Queue, "prepare", "load", "routing", "retrieval", "prefill"}

var phaseMetrics = []Metric{
	{Name: "dns", Unit: "ms", JSON: "dns_ms", Better: Lower, Basis: Fact, of: func(v *view) Value { return msOf(v.r.Phases.DNS) },
		Doc: "duration of the name lookup; absent on a reused connection"},
	{Name: "connect", Unit: "ms", JSON: "connect_ms", Better: Lower, Basis: Fact, of: func(v *view) Value { return msOf(v.r.Phases.Connect) },
		Doc: "duration of the transport connect; absent on a reused connection"},
	{Name: "tls", Unit: "ms", JSON: "tls_ms", Better: Lower, Basis: Fact, of: func(v *view) Value { return msOf(v.r.Phases.TLS) },
		Doc: "duration of the TLS handshake; absent on a reused connection"},
	{Name: "request_written", Unit: "ms", JSON: "request_written_ms", Better: Lower, Basis: Fact, of: func(v *view) Value { return msOf(v.r.Phases.RequestWritten) },
		Doc: "request written, since t0"},
	{Name: "headers", Unit: "ms", JSON: "headers_ms", Better: Lower, of: func(v *view) Value { return v.phase(v.r.Phases.Headers) },
		Doc: "response headers, since t0"},
	{Name: "first_byte", Unit: "ms", JSON: "first_byte_ms", Better: Lower, of: func(v *view) Value { return v.phase(v.r.Phases.FirstByte) },
		Doc: "first byte of the body, since t0"},
	{Name: Queue, Unit: "ms", JSON: "queue_ms", Better: Lower, Basis: Fact, Optional: true, of: func(v *view) Value { return v.stages()[Queue] },
		Doc: "what the service says it waited before executing"},
	{Name: "unaccounted", Unit: "ms", JSON: "unaccounted_ms", Better: Lower, Basis: Fact, Optional: true, of: (*view).unaccounted,
		Doc: "ttft_sent minus the stages that came before it (told before it, or by their nature: queue, prepare, load, routing, retrieval, prefill)"},
	{Name: "network_and_relay", Unit: "ms", JSON: "network_and_relay_ms", Better: Lower, Basis: Fact, Optional: true, of: (*view).networkAndRelay,
		Doc: "ttft_sent minus the service's own time from its connect event to its first token, warm connections only; may be slightly negative"},
}

// phase is a mark of the connection: what a stream that went further does not
// say was not recorded.
func (v *view) phase(d stream.Maybe[time.Duration]) Value {
	if d.Known() || len(v.events) > 0 {
		return msOf(d)
	}
	return v.unreached()
}

// stages are the durations the service states for its stages, by name; a
// stage that is stated twice is the sum of both.
func (v *view) stages() map[string]Value {
	out := map[string]Value{}
	for i := range v.events {
		e := &v.events[i]
		if took, ok := e.Took.Get(); ok && e.Kind == stream.KindStage && e.Name != "" {
			out[e.Name] = stat.At(out[e.Name].V + ms(took))
		}
	}
	return out
}

func (v *view) unaccounted() Value {
	ttft, ok := v.ttft().Get()
	if !ok {
		return Value{}
	}
	stated, spoke := false, false
	for i := range v.events {
		e := &v.events[i]
		spoke = spoke || e.Kind.Business()
		took, ok := e.Took.Get()
		if ok && e.Kind == stream.KindStage && (!spoke || slices.Contains(beforeOutput, e.Name)) {
			ttft -= ms(took)
			stated = true
		}
	}
	if !stated {
		return Value{}
	}
	return stat.At(ttft)
}

// networkAndRelay is a difference of two durations, one by each clock: never
// of two machines' times.
func (v *view) networkAndRelay() Value {
	ttft, ok := v.ttft().Get()
	if !ok || v.r.Conn != "warm" {
		return Value{}
	}
	sent, ok := v.business[0].ServiceTime.Get()
	if !ok {
		return Value{}
	}
	for i := range v.events {
		e := &v.events[i]
		if e.Kind.Business() {
			break
		}
		if start, ok := e.ServiceTime.Get(); ok && e.Kind == stream.KindConnect {
			return stat.At(ttft - ms(sent-start))
		}
	}
	return Value{}
}
