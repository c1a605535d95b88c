// Package arch holds the house rules that a compiler does not know, as one
// ordinary test: which package may import which, that each package says what
// it is and what it refuses, how long files and functions may be, and that
// the packages that measure neither look at a clock nor touch the world.
//
// It refuses exceptions without a reason in words: every row of its tables
// that departs from the rule carries one.
package arch
