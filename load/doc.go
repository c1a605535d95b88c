// Package load puts a service under the load its users would put it under:
// schedules of arrivals, scenarios to ask, a dispatcher that releases every
// arrival at its time, and the health of the generator itself.
//
// A schedule is a pure, seeded value: absolute offsets from one start, so that
// a late wake never moves what comes after, and several machines share one
// schedule by index. One goroutine paces; every stream has a goroutine of its
// own; there is no pool of workers whose being busy would hide a queue.
//
// The package refuses to slow down for the system under test (lateness and
// drops are results), to retry a request that failed, to leave a request that
// was due out of the records, and to call itself fit: what it did late, lost
// or could not do is in Health. A failed request is a record; an error means
// that nothing could be asked.
package load
