package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// bed is a service and a relay of their own, with a directory of theirs.
type bed struct {
	dir   string
	mock  *process
	relay *process // nil: straight
	url   string   // where clients ask
}

// made starts what a way needs; clear is to be called also after an error.
func (w way) made(ctx context.Context, weir string) (b bed, err error) {
	if b.dir, err = os.MkdirTemp("", "weir-bench-"); err != nil {
		return b, err
	}
	if b.mock, err = startMock(ctx, weir, b.truth()); err != nil {
		return b, err
	}
	b.url = b.mock.url
	if w.start != nil {
		if b.relay, err = w.start(ctx, weir, b.dir, b.mock.url); err != nil {
			return b, err
		}
		b.url = b.relay.url
	}
	return b, nil
}

// truth is the file of what the service wrote, whole once the mock is stopped.
func (b bed) truth() string { return filepath.Join(b.dir, "truth.jsonl") }

// clear ends both and removes the directory.
func (b bed) clear() error {
	b.relay.stop()
	b.mock.stop()
	return os.RemoveAll(b.dir)
}

// leftOut reports whether a way that failed is left out, which is said: the
// others' figures are worth having. Only the end of the whole run is an error.
func leftOut(ctx context.Context, w way, err error) (bool, error) {
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, errNotInstalled):
	case ctx.Err() != nil:
		return true, ctx.Err()
	default:
		fmt.Fprintf(os.Stderr, "relays: %s failed: %v\n", w.name, err)
	}
	return true, nil
}

// medianOf is a figure of the median round; not ok where no round has it.
func medianOf[T any](rounds []T, of func(T) (float64, bool)) (float64, bool) {
	var all []float64
	for _, r := range rounds {
		if v, ok := of(r); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[(len(all)-1)/2], true
}
