// Package stream is the waist of weir: what happened on one stream of model
// output, as classified, time-stamped events and the outcome they add up to.
//
// Every observer (client probe, load generator, gateway, browser, an old log)
// produces a Record; everything after that is a pure function of Records.
// The package refuses to look (no clock, no I/O, no logging) and refuses to
// guess: what cannot be known is a missing Maybe, never zero.
package stream
