// Package dialect knows the protocols of LLM services: how to ask, what the
// frames of an answer mean, and how an answer ends. One file per protocol, one
// line in All; docs/add-a-dialect.md shows the way.
//
// It refuses to frame bytes (wire does), to keep time, to open a connection,
// and to guess: what a frame does not say is a missing value, and what a
// dialect does not know is an event of KindOther with a Note, never an error
// and never silence. Every frame gives at least one event, every string of an
// event is valid UTF-8.
//
// Three conventions hold for all dialects. Usage rides on its frame's done event,
// else on its first, and is a usage event of its own only where the frame says
// nothing else. A token count of a frame stands on the frame's first business event,
// its other business events then hold zero; tokens of frames without output
// count with the next business event. BodyID and Model stand on every event
// whose response has stated them.
package dialect
