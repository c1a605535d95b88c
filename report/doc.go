// Package report writes a result for a reader: text for a person at a
// terminal, JSON for a program. One table, Formats, lists the ways.
//
// It refuses to measure and to judge: every number comes from package metric,
// every summary from package stat, every finding from package diagnose. It
// refuses to make a number up: what is missing reads "n/a" or null, never 0.
// It refuses to pass on what a server sends to a terminal: control characters
// are shown, not obeyed.
package report
