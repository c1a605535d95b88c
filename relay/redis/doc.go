// Package redis is a relay.Log in Redis, so that any instance of a gateway
// serves any stream: a Redis stream per stream of ours, with the offsets as
// explicit ids, and beside it a hash with its epoch, head, bounds and owner.
//
// A script appends a batch: it fences by epoch and offset, so that sending a
// batch again does no harm. Readers are woken by one subscription per process,
// taken and acknowledged before they read; a look at the positions every second
// catches what a lost message hid. Each instance holds a lease; the readers of a
// stream whose owner's lease is gone are told so.
//
// Spread keeps the streams of its own process in memory, as without Redis, and
// copies them behind the stream's back.
//
// It refuses to let Redis slow or end a stream that does not need it, to read
// one clock against another's (only Redis' own expiry and this process'
// monotonic time count), and to take a database that lost its content for one
// that has nothing new.
package redis
