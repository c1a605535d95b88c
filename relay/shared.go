package relay

import (
	"context"
	"errors"
)

// The errors of a Log that several instances share.
var (
	ErrDown     = errors.New("the relay's store cannot be reached; try again")
	ErrOrphaned = errors.New("the instance that ran this stream is gone, and its end with it")
	ErrPending  = errors.New("the stream has begun and has nothing to read yet")
)

// Shared is a Log whose streams other instances serve too. Its After can end
// with ErrDown and ErrOrphaned, its Stat with ErrDown and ErrPending beside the
// errors of Log.
type Shared interface {
	Log

	// Up reports whether streams that begin now can be read elsewhere. It does
	// not wait.
	Up() bool

	// Announce says that a stream will be opened: Stat is ErrPending everywhere
	// until it is, or its instance is gone, or Retract says that it will not be.
	// The head is given with ErrPending. Neither waits.
	Announce(stream string, head []byte)
	Retract(stream string)

	// Await waits until a stream that is ErrPending has something to read, or is
	// ErrGone, and gives its Stat.
	Await(ctx context.Context, stream string) (State, error)

	// Stop asks the instance that runs a stream to end it, and waits a little for
	// that. ended says that it has; otherwise the instance was told, or will be
	// when it can be. A stream that does not run is ErrGone or ErrEnded.
	Stop(ctx context.Context, stream string) (ended bool, err error)

	// Attend says who is told what other instances ask; the last one counts.
	Attend(a Attendant)
}

// Attendant is told what other instances ask of streams of this one. Its
// methods must not wait; a stream that is not known is to be ignored.
type Attendant interface {
	Stop(stream string)
	// Follow says that somebody elsewhere came to follow (+1) or that nobody
	// does any more (-1).
	Follow(stream string, delta int)
}
