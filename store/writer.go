package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir/table"
)

// WriterOptions are how a Writer gathers rows. The zero value works.
type WriterOptions struct {
	Rows  int           // rows of a batch; 0 = 200
	Every time.Duration // how long a row waits for its batch to fill; 0 = 250 ms
	Queue int           // rows that may wait for a slow store; 0 = 10,000
}

// Writer stores the rows of one run in batches, as they come from many
// goroutines. One goroutine of its own talks to the store.
type Writer struct {
	store Store
	run   string
	o     WriterOptions
	rows  chan table.Row
	ended sync.WaitGroup

	closing sync.RWMutex // held for reading while a row is handed over
	closed  bool

	mu   sync.Mutex
	err  error // the first
	lost int   // rows that could not be stored
}

// NewWriter begins to write rows of a run that was put before. Close must be
// called.
func NewWriter(s Store, run string, o WriterOptions) *Writer {
	if o.Rows <= 0 {
		o.Rows = 200
	}
	if o.Every <= 0 {
		o.Every = 250 * time.Millisecond
	}
	if o.Queue <= 0 {
		o.Queue = 10_000
	}
	w := &Writer{store: s, run: run, o: o, rows: make(chan table.Row, o.Queue)}
	w.ended.Go(w.loop)
	return w
}

// Write hands rows over. It waits only where the queue is full: rows are never
// thrown away to keep up. The error is the first that storing met so far; the
// rows after it are still tried.
func (w *Writer) Write(rows ...table.Row) error {
	w.closing.RLock()
	defer w.closing.RUnlock()
	if w.closed {
		return fmt.Errorf("run %s: a row came after its writer was closed", w.run)
	}
	for _, r := range rows {
		w.rows <- r
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close stores what is left. The error says how many rows were lost, and why
// the first was.
func (w *Writer) Close() error {
	w.closing.Lock()
	if w.closed {
		w.closing.Unlock()
		return errors.New("the writer of a run was closed twice")
	}
	w.closed = true
	close(w.rows)
	w.closing.Unlock()
	w.ended.Wait()
	if w.err != nil {
		return fmt.Errorf("run %s: %d rows were not stored: %w", w.run, w.lost, w.err)
	}
	return nil
}

func (w *Writer) loop() {
	var batch []table.Row
	timer := time.NewTimer(w.o.Every)
	defer timer.Stop()
	for {
		select {
		case r, more := <-w.rows:
			if !more {
				w.put(batch)
				return
			}
			if len(batch) == 0 {
				timer.Reset(w.o.Every)
			}
			if batch = append(batch, r); len(batch) >= w.o.Rows {
				batch = w.put(batch)
			}
		case <-timer.C:
			batch = w.put(batch)
		}
	}
}

// put stores a batch and returns it empty. It has no deadline but the store's:
// what was measured is stored also when the run was interrupted.
func (w *Writer) put(batch []table.Row) []table.Row {
	if len(batch) == 0 {
		return batch
	}
	err := w.store.Put(context.Background(), w.run, batch)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lost += len(batch)
		if w.err == nil {
			w.err = err
		}
	}
	return batch[:0]
}
