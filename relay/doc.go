// Package relay keeps the last of every stream for a while, so that a client
// whose connection broke gets the rest: a bounded log of encoded frames, from
// which any number of readers replay and then follow.
//
// Replay and live are one read of one log. A reader asks for what comes after
// its position and gets it, or waits for it; there is no moment between the
// past and the present at which an entry could be lost or come twice.
//
// It refuses to guess: a position of which it cannot give everything that
// followed is a gap, said before any entry, and a reader that eviction
// overtakes is told so. It refuses to let a reader slow the writer, to keep
// more than its bounds, to look into a frame, and to say who may read: that is
// for whoever serves the readers.
package relay
