package metric

import (
	"slices"
	"time"

	"weir/stat"
	"weir/stream"
)

// Useful is the name of the mark that says the answer can be acted upon.
const Useful = "useful"

var markMetrics = []Metric{
	{Name: "ttft", Unit: "ms", JSON: "ttft_ms", Better: Lower, of: fromSchedule((*view).ttft),
		Doc: "first business event (text, reasoning, tool, media), since the scheduled time, or t0 where there is no schedule"},
	{Name: "ttft_sent", Unit: "ms", JSON: "ttft_sent_ms", Better: Lower, of: (*view).ttft,
		Doc: "first business event, since t0"},
	{Name: "first_text", Unit: "ms", JSON: "first_text_ms", Better: Lower, of: fromSchedule((*view).firstText),
		Doc: "event after which the answer holds a visible character, since the scheduled time or t0"},
	{Name: "first_text_sent", Unit: "ms", JSON: "first_text_sent_ms", Better: Lower, of: (*view).firstText,
		Doc: "event after which the answer holds a visible character, since t0"},
	{Name: "useful", Unit: "ms", JSON: "useful_ms", Better: Lower, of: fromSchedule((*view).useful),
		Doc: "first event of the last attempt at which the scenario's business predicate holds, since the scheduled time or t0"},
	{Name: "useful_sent", Unit: "ms", JSON: "useful_sent_ms", Better: Lower, of: (*view).useful,
		Doc: "the same as useful, since t0"},
	{Name: "complete", Unit: "ms", JSON: "complete_ms", Better: Lower, of: fromSchedule((*view).complete),
		Doc: "the event that settled a complete or gapped answer, since the scheduled time or t0"},
	{Name: "complete_sent", Unit: "ms", JSON: "complete_sent_ms", Better: Lower, of: (*view).complete,
		Doc: "the same as complete, since t0"},
	{Name: "first_event", Unit: "ms", JSON: "first_event_ms", Better: Lower, of: (*view).firstEvent,
		Doc: "first event of any kind, since t0"},
	{Name: "first_reasoning", Unit: "ms", JSON: "first_reasoning_ms", Better: Lower, Optional: true, of: firstOf(stream.KindReasoning),
		Doc: "first thinking text, since t0"},
	{Name: "first_tool", Unit: "ms", JSON: "first_tool_ms", Better: Lower, Optional: true, of: firstOf(stream.KindTool),
		Doc: "first tool-call delta, since t0"},
	{Name: "last_output", Unit: "ms", JSON: "last_output_ms", Basis: Fact, of: (*view).lastOutput,
		Doc: "last business event, since t0"},
	{Name: "done", Unit: "ms", JSON: "done_ms", Better: Lower, Basis: Fact, of: (*view).done,
		Doc: "the event that settles the answer: terminal event, else last finish reason, else sentinel, since t0"},
	{Name: "sentinel", Unit: "ms", JSON: "sentinel_ms", Basis: Fact, Optional: true, of: (*view).sentinel,
		Doc: "the sentinel ([DONE] or its like), since t0"},
	{Name: "end", Unit: "ms", JSON: "end_ms", Basis: Fact, of: func(v *view) Value { return msOf(v.r.End) },
		Doc: "end of the body, or abort, since t0"},
}

func fromSchedule(of func(*view) Value) func(*view) Value {
	return func(v *view) Value { return v.scheduled(of(v)) }
}

// ttft: an answer that came as one body has none. One that ended without a
// word is a stream that never spoke.
func (v *view) ttft() Value {
	switch {
	case v.r.Whole:
		return v.wholeMark()
	case v.spoke():
		return stat.At(ms(v.business[0].At))
	case v.r.Outcome.Ended():
		return Value{Is: Never}
	}
	return v.unreached()
}

// wholeMark is a streaming mark of an answer that came as one body: it does
// not apply, unless the request failed, in which case it was never reached.
func (v *view) wholeMark() Value {
	if v.spoke() {
		return Value{}
	}
	return v.unreached()
}

func (v *view) firstText() Value {
	if v.r.Whole {
		return v.wholeMark()
	}
	known := true
	for _, e := range v.business {
		if e.Kind != stream.KindText {
			continue
		}
		n, ok := e.Visible.Get()
		if n > 0 {
			return stat.At(ms(e.At))
		}
		known = known && ok
	}
	if !known {
		return Value{} // the log has no text to tell
	}
	return v.unreached()
}

func (v *view) useful() Value {
	for i := range v.last {
		if slices.Contains(v.last[i].Marks, Useful) {
			return stat.At(ms(v.last[i].At))
		}
	}
	if !v.asked(Useful) {
		return Value{}
	}
	return v.unreachedMark()
}

// asked reports whether the run looked for the mark at all.
func (v *view) asked(name string) bool {
	if slices.Contains(v.r.Marks, name) {
		return true
	}
	return slices.ContainsFunc(v.events, func(e stream.Event) bool { return slices.Contains(e.Marks, name) })
}

// unreachedMark: a predicate that a finished answer did not meet is met never.
func (v *view) unreachedMark() Value {
	if v.r.Outcome.Ended() {
		return Value{Is: Never}
	}
	return v.unreached()
}

// userMarks are the marks the user named, useful apart: since t0, the first
// time each held.
func (v *view) userMarks() map[string]Value {
	out := map[string]Value{}
	for i := range v.events {
		for _, name := range v.events[i].Marks {
			if _, ok := out[name]; !ok {
				out[name] = stat.At(ms(v.events[i].At))
			}
		}
	}
	for _, name := range v.r.Marks {
		if _, ok := out[name]; !ok {
			out[name] = v.unreachedMark()
		}
	}
	delete(out, Useful)
	return out
}

func (v *view) complete() Value {
	if !v.r.Outcome.Ended() {
		return v.unreached()
	}
	if d := v.done(); d.Is == Reached {
		return d
	}
	return msOf(v.r.End) // a protocol without an end mark: a clean end of the body
}

// done is the event that settles the last attempt.
func (v *view) done() Value {
	var terminal, finish, sentinel *stream.Event
	for i := range v.last {
		e := &v.last[i]
		if e.Kind != stream.KindDone {
			continue
		}
		switch {
		case e.Proof == stream.ProofTerminal && terminal == nil:
			terminal = e
		case e.Proof == stream.ProofFinish:
			finish = e
		case e.Proof == stream.ProofSentinel && sentinel == nil:
			sentinel = e
		}
	}
	for _, e := range []*stream.Event{terminal, finish, sentinel} {
		if e != nil {
			return stat.At(ms(e.At))
		}
	}
	return Value{}
}

func (v *view) sentinel() Value {
	for i := range v.last {
		if e := &v.last[i]; e.Kind == stream.KindDone && e.Proof == stream.ProofSentinel {
			return stat.At(ms(e.At))
		}
	}
	return Value{}
}

func (v *view) firstEvent() Value {
	switch {
	case v.r.Whole:
		return Value{}
	case len(v.events) > 0:
		return stat.At(ms(v.events[0].At))
	}
	return v.unreached()
}

// firstOf is the first event of a kind that only some answers have. It is
// unreached where the stream failed before it said anything, and does not
// apply to one that spoke without it.
func firstOf(k stream.Kind) func(*view) Value {
	return func(v *view) Value {
		if v.r.Whole {
			return Value{}
		}
		for _, e := range v.business {
			if e.Kind == k {
				return stat.At(ms(e.At))
			}
		}
		if v.spoke() {
			return Value{}
		}
		return v.unreached()
	}
}

func (v *view) lastOutput() Value {
	if !v.spoke() {
		return Value{}
	}
	return stat.At(ms(v.lastAt()))
}

// lastAt is the time of the last business event; the stream must have spoken.
func (v *view) lastAt() time.Duration { return v.business[len(v.business)-1].At }
