package gateway

import (
	"time"

	"weir/stream"
)

// Observer is told what happens, to count it. Its methods are called from many
// goroutines, some of them for every event, and must not wait.
type Observer interface {
	// Queued: a request waited this long for its place; reason is "" where it
	// got one, else why it did not: full, wait, per_route, per_key, draining, gone.
	Queued(route string, wait time.Duration, reason string)
	// Started: a request got its place. Ended always follows.
	Started(route string)
	// Ended: what came of it.
	Ended(e Ended)
	// Relayed: events went to a client in one write. added is the time from the
	// oldest read among them to the end of the write.
	Relayed(route string, added time.Duration, events, bytes int)
	// Retried: an attempt failed and another follows.
	Retried(route, reason string)
	// Cancelled: the upstream request was cancelled before its end, in a state:
	// queued, connect, held, relay, detached. saved is the most tokens it can have
	// saved (what was asked for less what came), where both are known.
	Cancelled(route, state, reason string, saved stream.Maybe[int])
	// Opened: a client of a stream was answered: by its first output, by the end
	// of the hold before it, or early. After the last two, failures are in band.
	Opened(route, by string)
	// Silent: a stream had no semantic progress for the time of a tier: log, act,
	// tell; or was below the floor: slow.
	Silent(route, tier string)
	// Paced: a piece of text left after it was held back for so long; of a route
	// that paces, every piece.
	Paced(route string, delay time.Duration)
	// Rhythm: a paced stream ended; the standard deviation of the gaps of its text
	// as it came, and as it left.
	Rhythm(route string, before, after time.Duration)
	// Limited: an event waited because its key had its output of the moment.
	Limited(route string, wait time.Duration)
	// Answered: a client's request is over, also one that was refused. route is ""
	// where none has its path, status 0 where it got no answer.
	Answered(method, route string, status int, tls bool, took time.Duration)
	// Panicked: the gateway failed, on a goroutine of one stream or socket, which
	// ended for it: pump, writer, clock, pacer, drain, record, follower, socket, worker.
	Panicked(where string)
	// SocketOpened: a WebSocket's handshake is over. SocketClosed always follows.
	SocketOpened()
	// SocketClosed: it is over, with a close code, by the client, the gateway or
	// the connection: 1006, nobody said why.
	SocketClosed(code int, by string)
	// SocketRefused: a handshake was refused.
	SocketRefused(reason string)
	// MessageRefused: a client's message was not followed.
	MessageRefused(reason string)
}

// Ended is a finished request. It is stream's, so that telemetry counts it
// without knowing the gateway.
type Ended = stream.Served

// Amount is how much of an answer.
type Amount = stream.Amount

// nobody observes nothing.
type nobody struct{}

func (nobody) Queued(string, time.Duration, string)                {}
func (nobody) Started(string)                                      {}
func (nobody) Ended(Ended)                                         {}
func (nobody) Relayed(string, time.Duration, int, int)             {}
func (nobody) Retried(string, string)                              {}
func (nobody) Cancelled(string, string, string, stream.Maybe[int]) {}
func (nobody) Opened(string, string)                               {}
func (nobody) Silent(string, string)                               {}
func (nobody) Paced(string, time.Duration)                         {}
func (nobody) Rhythm(string, time.Duration, time.Duration)         {}
func (nobody) Panicked(string)                                     {}
func (nobody) Limited(string, time.Duration)                       {}
func (nobody) Answered(string, string, int, bool, time.Duration)   {}
func (nobody) SocketOpened()                                       {}
func (nobody) SocketClosed(int, string)                            {}
func (nobody) SocketRefused(string)                                {}
func (nobody) MessageRefused(string)                               {}
