// Package mark is named predicates over one stream's events: at which moment
// was the answer useful, did a tool time out, was there a handoff. A mark is an
// expression (github.com/expr-lang/expr) over
//
//	event  string  the SSE event name, data.type or stage name of this event
//	kind   string  its kind: text, reasoning, tool, media, connect, stage, …
//	delta  string  its own text, whatever its kind
//	text   string  the answer's visible text so far, this event included
//	state  map     the business state so far, this event included
//	t      number  milliseconds since the request was sent
//
// and it marks the first event at which it holds. After a restart the text and
// the state are void, and so is every mark.
//
// State is merged as JSON Merge Patch says (RFC 7396): objects merge field by
// field to any depth, any other value replaces, null removes. A field that is
// absent reads as nil. An expression that fails on an event (a field of nil, a
// string where it wants a number) is false there.
//
// The package refuses what could run away: no ranges, no functions that
// multiply their input, no loop that reads the text or walks more than the
// outer loop's own element, a memory budget per evaluation, text and state up
// to 1 MiB each. It refuses the clock (now): a mark holds again when a log is
// measured again.
package mark
