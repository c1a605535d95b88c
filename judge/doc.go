// Package judge decides: runs and records in, verdict out. It holds gates
// (limits on what users live through), temporal rules on each stream, and the
// comparison of two sides of runs.
//
// It refuses to fetch anything, to print anything and to look at a clock, so
// that the same runs get the same verdict today and in a year. It refuses to
// call two runs different because their requests are, to compare what is unlike,
// to convict on fewer runs than can convict, and to pass what it cannot decide.
package judge
