package rig

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"weir/eventlog"
	"weir/judge"
	gen "weir/load"
	"weir/store"
	"weir/stream"
	"weir/table"
)

// keeper takes the records of a load, measures them and writes them down, in
// one goroutine of its own: neither the pacer nor a stream ever waits for a
// disk. What it could not write is counted and said, never dropped in silence.
type keeper struct {
	plan    *LoadPlan
	o       BenchOptions
	b       *Bench
	watches map[string]*judge.Watch // by scenario
	order   []string                // of the scenarios
	log     *eventlog.Writer        // nil: no directory
	rows    *rowFile
	store   *store.Writer // nil: no store

	mu    sync.Mutex
	more  *sync.Cond
	queue []*stream.Record
	ended bool
	wait  sync.WaitGroup

	lost     int      // records that were not written
	troubles []string // what went wrong, each once
}

func newKeeper(p *LoadPlan, o BenchOptions, b *Bench) (*keeper, error) {
	k := &keeper{plan: p, o: o, b: b, watches: map[string]*judge.Watch{}}
	k.more = sync.NewCond(&k.mu)
	for _, s := range p.Scenarios {
		w, err := p.watch(s)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		k.watches[s.Name] = w
		k.order = append(k.order, s.Name)
	}
	if err := k.open(); err != nil {
		return nil, err
	}
	if o.Store != nil {
		if err := o.Store.PutRun(context.Background(), b.Run); err != nil {
			return nil, fmt.Errorf("store the run: %w", err)
		}
		k.store = store.NewWriter(o.Store, o.ID, store.WriterOptions{})
	}
	k.wait.Go(k.work)
	return k, nil
}

// open makes the run directory and says in it that a run has begun.
func (k *keeper) open() (err error) {
	if k.o.Dir == "" {
		return nil
	}
	if k.rows, err = newRowFile(k.o.Dir); err != nil {
		return err
	}
	if err := writeRunFile(k.o.Dir, k.b, k.plan); err != nil {
		return err
	}
	k.log, err = eventlog.NewWriter(k.o.Dir, k.o.ID, eventlog.Options{KeepText: k.plan.KeepText, Zstd: k.o.Zstd})
	return err
}

// done takes a request's records; it never waits.
func (k *keeper) done(_ gen.Request, records []*stream.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, records...)
	k.more.Signal()
}

// work keeps records until there are no more.
func (k *keeper) work() {
	for {
		k.mu.Lock()
		for len(k.queue) == 0 && !k.ended {
			k.more.Wait()
		}
		records := k.queue
		k.queue = nil
		k.mu.Unlock()
		if len(records) == 0 {
			return
		}
		for _, r := range records {
			k.keep(r)
		}
	}
}

func (k *keeper) keep(r *stream.Record) {
	row := table.RowOf(r)
	k.b.Rows = append(k.b.Rows, row)
	if w := k.watches[row.Scenario]; w != nil && !row.Warmup {
		w.See(r)
	}
	if k.o.See != nil {
		k.o.See(r)
	}
	whole := true
	if k.log != nil {
		whole = k.try("the event log", k.log.Put(context.Background(), r)) && whole
		whole = k.try("rows.jsonl", k.rows.write(row)) && whole
	}
	if k.store != nil {
		k.try("the store", k.store.Write(row))
	}
	if !whole {
		k.lost++
	}
}

// try says what went wrong, once for each place, and whether nothing did.
func (k *keeper) try(place string, err error) bool {
	if err == nil {
		return true
	}
	message := fmt.Sprintf("%s could not be written: %v", place, err)
	for _, told := range k.troubles {
		if told == message {
			return false
		}
	}
	if len(k.troubles) < maxTroubles {
		k.troubles = append(k.troubles, message)
		k.o.Notice(message)
	}
	return false
}

// maxTroubles bounds what is said of one run's troubles.
const maxTroubles = 20

// close waits until everything is kept, and closes the files.
func (k *keeper) close() {
	k.mu.Lock()
	k.ended = true
	k.more.Signal()
	k.mu.Unlock()
	k.wait.Wait()
	if k.store != nil {
		if err := k.store.Close(); !k.try("the store", err) {
			k.lost++
		}
	}
	if k.log != nil {
		k.b.Logs = k.log.Paths()
		k.try("the event log", k.log.Close())
		k.try("rows.jsonl", k.rows.close())
	}
	if k.lost > 0 {
		k.troubles = append(k.troubles, fmt.Sprintf("%d records were measured and not written", k.lost))
	}
}

// rules are the results of every scenario's rules, in the plan's order.
func (k *keeper) rules() []judge.RuleResult {
	var out []judge.RuleResult
	for _, name := range k.order {
		out = append(out, k.watches[name].Results()...)
	}
	return out
}

// save writes what the run came to.
func (k *keeper) save(ctx context.Context) error {
	var errs []error
	if k.o.Dir != "" {
		errs = append(errs, writeRunFile(k.o.Dir, k.b, k.plan))
	}
	if k.o.Store != nil {
		errs = append(errs, k.o.Store.PutRun(ctx, k.b.Run))
	}
	return errors.Join(errs...)
}
