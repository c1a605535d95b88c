// Package store keeps the rows of runs and gives them back. The interface is
// small so that SQLite on a laptop and a warehouse of a team answer alike:
// every implementation runs the behaviour suite of package storetest. Finding
// a run by what people call it, tags, and writing in batches are made of the
// interface, once for all of them.
//
// It refuses to measure, to judge and to aggregate: a store gives rows, and
// package table makes summaries of them, so that a figure does not depend on
// where its rows were kept. It keeps no event and no text of any answer; those
// are in the event log.
package store
