package store

import (
	"context"
	"errors"
	"iter"

	"weir/table"
)

// ErrNoRun is what an error wraps where a store holds no such run.
var ErrNoRun = errors.New("no such run")

// Store keeps runs and their rows. It is safe for concurrent use, also by
// several processes. Errors say what failed, where, and what to do.
type Store interface {
	// PutRun stores a run, or replaces what is stored of it; its rows stay.
	// Without Tags (nil) the tags that it has stay too. Rows is not stored.
	PutRun(context.Context, table.Run) error

	// Runs gives every run, oldest first, with the number of its rows.
	Runs(context.Context) iter.Seq2[table.Run, error]

	// DeleteRun removes a run and its rows; ErrNoRun where there is none.
	DeleteRun(ctx context.Context, id string) error

	// Put stores rows of a run: all of them or, with an error, none. A row
	// of the same index, choice, hop and request replaces the one before, so
	// that storing again what may have been stored does no harm. ErrNoRun
	// where the run was not put before.
	Put(ctx context.Context, run string, rows []table.Row) error

	// Rows gives the rows that a query wants, by run, index, choice, hop and
	// request. After an error there is no further row.
	Rows(context.Context, table.Query) iter.Seq2[table.Row, error]

	Close() error
}
