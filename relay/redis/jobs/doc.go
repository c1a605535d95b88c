// Package jobs is a relay.Queue in Redis, a stream with one consumer group, and
// the loop of a worker that takes from it.
//
// A worker renews what it runs once a second, in one command. What was not
// renewed for a lease is another's: it runs again where nothing of it was
// written, and ends with an error where something was. A worker that was paused
// finds its name gone from the stream's log, which refuses its entries. After a
// Redis that was away nobody takes anything over before all had a lease's time to
// renew.
//
// It refuses to run a job twice once a reader may have seen something of it, to
// queue without bound, and to compare clocks: waiting times are Redis' own.
package jobs
