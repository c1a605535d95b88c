// Package stat turns numbers into summaries that say no more than the numbers
// bear: nearest-rank quantiles with integer ranks, their order-statistic
// intervals, and quantiles over values that never came or were cut short; and
// tests of two samples of runs by their ranks, exact where runs are few.
//
// It refuses to interpolate between ranks, to print a tail that the sample is
// too small for, and to leave out the requests that never answered: a stream
// that never spoke is slower than any that did.
package stat
