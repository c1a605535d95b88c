// Package mock is a provider whose true behaviour is known: it speaks the
// dialects weir reads, on their real paths, at times and with faults that the
// request chose, and writes down when each event really left.
//
// Everything is seeded: the same behaviour gives the same bytes. It refuses to
// guess: a behaviour it does not know, or a value it cannot read, is HTTP 400
// naming it, never a silent default. It is no model: the text is canned, the
// token counts are what the behaviour says, and nothing of the prompt is kept.
package mock
