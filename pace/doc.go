// Package pace is the playout buffer of one stream: what a service sends in
// bursts leaves evenly, at a rate that follows the service.
//
// It is a pure state machine with no clock of its own. It never reorders and
// never loses; it delays no byte by more than its bound, the first output not
// at all, and lets everything that is not plain visible text through at once,
// with what waits before it. It cuts an event only where its dialect allows it,
// only inside its text, and only between grapheme clusters. It refuses to guess:
// until a rhythm was seen, nothing waits.
package pace
