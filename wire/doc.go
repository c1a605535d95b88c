// Package wire turns the bytes of a response body into frames and back:
// Server-Sent Events exactly by the WHATWG rules, NDJSON, a JSON array that
// arrives in pieces, and a body that is no stream at all.
//
// What a conforming SSE parser throws away (comments, blocks without data,
// unknown fields, an event cut off before its blank line) is a frame of its own
// kind, because language model services put errors, end marks and heartbeats
// there. Any split of the bytes gives the same frames.
//
// The package refuses to look at a clock, to do I/O, to give JSON a meaning, to
// hold more than one frame in memory, and to repair bytes that nobody asked
// for: Text does that where text is wanted. Its encoders refuse whatever would
// inject a line, a field or an event of its own.
package wire
