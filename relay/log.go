package relay

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Log is a bounded log of frames per stream. Implementations are safe for
// concurrent use and pass the suite of package relaytest. A stream has one
// writer and any number of readers.
type Log interface {
	// Open begins a stream and returns the position before its first entry, with
	// the epoch that all its positions have. head is what readers must know of
	// the stream before its first entry; the log keeps it as long as the stream
	// and gives it no meaning. An id that is in use is ErrExists; ErrFull says
	// that the log holds as many streams as it may.
	Open(ctx context.Context, stream string, head []byte) (Position, error)

	// Append adds an entry and returns its position. The frame is copied.
	// Where the entry's position is not zero it is what the writer takes it to
	// be, and anything else is ErrFenced: of an epoch alone, another generation;
	// of an offset too, an entry that is there already or one that is missing.
	// After a terminal entry Append is ErrEnded, of an unknown stream ErrGone.
	Append(ctx context.Context, stream string, e Entry) (Position, error)

	// After gives the entries after a position, those that are there and then
	// those that come, until the terminal entry. A position without an epoch is
	// one of the present epoch; its offset 0 is before the first entry.
	//
	// Where the log cannot give all that followed the position, the first and
	// only thing it yields is a *GapError; a reader that eviction overtakes gets
	// one after the entries before the gap. Every other end than the terminal
	// entry's is an error too: ErrGone, ErrBusy at once, or the context's.
	//
	// A frame must not be changed; it stays valid after the loop.
	After(ctx context.Context, stream string, p Position) iter.Seq2[Entry, error]

	// Stat says what the log holds of a stream; an unknown one is ErrGone.
	Stat(ctx context.Context, stream string) (State, error)

	// Drop forgets a stream: its readers get ErrGone. An unknown one is no error.
	Drop(ctx context.Context, stream string) error
}

// Position is a place in a stream: after the entry of that offset. Its epoch
// tells the generations of a stream apart, so that a log which lost its content
// is not taken for one that has nothing new.
type Position struct {
	Epoch  string // ASCII letters and digits; "" = whichever is present
	Offset int64  // number of the entry, from 1; 0 = before the first
}

// Entry is one frame of a stream.
type Entry struct {
	Position
	Frame    []byte // encoded, as sent, without an id of ours
	Terminal bool   // the stream's last
}

// State is what a log holds of one stream.
type State struct {
	Head  []byte   // as given to Open; must not be changed
	First Position // the oldest position from which all that follows is there
	Last  Position // of the newest entry
	Ended bool     // that one is terminal
}

// Complete reports whether nothing can follow the position.
func (s State) Complete(p Position) bool {
	return s.Ended && p.Offset == s.Last.Offset && (p.Epoch == "" || p.Epoch == s.Last.Epoch)
}

// The errors of a Log. ErrGap is what every *GapError is.
var (
	ErrGap    = errors.New("the log does not hold all that followed this position")
	ErrGone   = errors.New("no such stream in the log: it never was, or its time is over")
	ErrExists = errors.New("a stream of this id is in the log already")
	ErrFull   = errors.New("the log holds as many streams as it may, all of them running; raise its limit or serve this stream without resume")
	ErrBusy   = errors.New("as many read this stream as may; let one of them go")
	ErrEnded  = errors.New("the stream has its terminal entry; nothing can follow it")
	ErrFenced = errors.New("the entry is not the stream's next: another writer has it, or this one lost count")
)

// GapError says which position was asked for and what the log can give.
type GapError struct {
	Asked Position
	First Position // the oldest position from which all that follows is there
	Last  Position // of the newest entry
}

// Error says what is missing.
func (e *GapError) Error() string {
	switch {
	case e.Asked.Epoch != "" && e.Asked.Epoch != e.Last.Epoch:
		return fmt.Sprintf("gap: the position is of epoch %s, the stream of %s; begin again", e.Asked.Epoch, e.Last.Epoch)
	case e.Asked.Offset > e.Last.Offset:
		return fmt.Sprintf("gap: the position %d is beyond the newest entry %d", e.Asked.Offset, e.Last.Offset)
	case e.Asked.Offset < 0:
		return fmt.Sprintf("gap: there is no position %d; they begin at 0", e.Asked.Offset)
	}
	return fmt.Sprintf("gap: entries %d to %d are not kept any more", e.Asked.Offset+1, e.First.Offset)
}

// Is reports that a GapError is ErrGap.
func (e *GapError) Is(target error) bool { return target == ErrGap }

// Gap is the *GapError for a reader at p, or nil where the log holds all that
// followed it.
func (s State) Gap(p Position) error {
	if (p.Epoch == "" || p.Epoch == s.Last.Epoch) && s.First.Offset <= p.Offset && p.Offset <= s.Last.Offset {
		return nil
	}
	return &GapError{Asked: p, First: s.First, Last: s.Last}
}
