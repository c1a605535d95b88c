package relay

import (
	"context"
	"errors"
	"time"

	"weir/stream"
)

// ErrQueueFull is the refusal of a job that found no place.
var ErrQueueFull = errors.New("as many requests wait for a worker as may; try again later")

// Job is a request on its way to a worker, which opens its stream in a Shared
// log.
type Job struct {
	Stream string
	Head   []byte // of the stream until a worker opens it, as for Announce
	Data   []byte // the request; the queue gives it no meaning
}

// Queue brings jobs to workers. Where an instance has put a job it reads the
// stream, and says so when it does not any more.
type Queue interface {
	// Put adds a job; its ticket names it for Recall. ErrQueueFull and ErrDown
	// say that nothing was added.
	Put(ctx context.Context, j Job) (ticket string, err error)

	// Recall takes a job back. back is false where a worker has it already.
	Recall(ctx context.Context, stream, ticket string) (back bool, err error)

	// Leave says that whoever put a job waits for it no more: it is taken back,
	// or its worker is told.
	Leave(ctx context.Context, stream, ticket string) error
}

// Task is a job that a worker has.
type Task struct {
	Stream string
	Data   []byte
	Runs   int                         // how often workers have taken it, this time included
	Waited stream.Maybe[time.Duration] // since it was put, by the queue's own clock
}

// Runner does what the jobs of a queue ask for. Its methods are called from many
// goroutines.
type Runner interface {
	// Run does a job: when it returns, the job is done. The context ends, with
	// ErrFenced, where another worker has taken it over.
	Run(ctx context.Context, t Task)

	// Lost is the last frame of a stream whose worker is gone after so many
	// entries.
	Lost(head []byte, entries int64) []byte

	// Gone says that whoever put a job no longer waits for it.
	Gone(stream string)
}
