// Package table is records as rows: who a record is (request, run, scenario,
// connection, hop, labels), how it ended, and what was measured of it; with
// filters, grouping, and the summary of each group. Reports, stores, gates and
// alerts share it, so that they cannot disagree.
//
// It refuses to mix what METRICS keeps apart: every metric is summarised over
// its own population (requests due, streams that spoke, answers that ended),
// what was left out is said beside, and a group never averages cold and warm
// connections unless the caller leaves conn out of the grouping.
package table
