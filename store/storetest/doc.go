// Package storetest is the one behaviour suite of stores: what package store
// promises, asked of an implementation. A store that passes answers weir as
// every other does.
//
// It refuses to know an engine: schema, migration, locks and damage are tested
// beside each implementation.
package storetest
