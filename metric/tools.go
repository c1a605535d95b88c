package metric

import (
	"weir/stat"
	"weir/stream"
)

var toolMetrics = []Metric{
	{Name: "tool_calls", Unit: "count", JSON: "tool_calls", Better: Lower, Basis: Fact, of: (*view).toolCalls,
		Doc: "tool calls that the answer began, those of void attempts included; missing where the protocol does not tell where a call begins"},
}

// toolCalls: what a restart voids had been called all the same.
func (v *view) toolCalls() Value {
	calls, pieces := 0, 0
	for i := range v.events {
		e := &v.events[i]
		if e.Kind != stream.KindTool {
			continue
		}
		pieces++
		if e.Tool != "" {
			calls++
		}
	}
	if pieces > 0 && calls == 0 {
		return Value{}
	}
	return v.counted(calls)
}

// toolsByName are the calls of each tool that was called.
func (v *view) toolsByName() map[string]Value {
	out := map[string]Value{}
	for i := range v.events {
		if e := &v.events[i]; e.Kind == stream.KindTool && e.Tool != "" {
			out[e.Tool] = stat.At(out[e.Tool].V + 1)
		}
	}
	return out
}
