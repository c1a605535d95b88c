package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"weir/eventlog"
	"weir/gateway"
	"weir/metric"
	"weir/store"
	"weir/store/sqlite"
	"weir/stream"
	"weir/table"
)

// gatewayKeep is where a gateway's records go: the event log and the store,
// whichever the configuration names.
type gatewayKeep struct {
	log   *eventlog.Writer
	store store.Store
	rows  *store.Writer
	run   table.Run // as the store has it
}

func openGatewayKeep(ctx context.Context, c gateway.Config, keepText bool) (*gatewayKeep, error) {
	k := &gatewayKeep{}
	now := time.Now().UTC()
	run := fmt.Sprintf("gateway-%s-%d", now.Format("20060102T150405.000Z"), os.Getpid()) // several may share a directory
	var err error
	if c.Log.Dir != "" {
		if k.log, err = eventlog.NewWriter(logRoot(c.Log.Dir), run, eventlog.Options{KeepText: keepText}); err != nil {
			return nil, err
		}
	}
	if c.Log.Store == "" {
		return k, nil
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: c.Log.Store})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("log.store: %w", err), k.close(false))
	}
	k.store = s
	k.run = table.Run{ID: run, Kind: "gateway", Start: now, Target: c.Listen, Weir: version,
		Definitions: metric.Version, Partial: true} // until it ends well
	if err = s.PutRun(ctx, k.run); err != nil {
		return nil, errors.Join(fmt.Errorf("log.store: %w", err), k.close(false))
	}
	k.rows = store.NewWriter(s, run, store.WriterOptions{})
	return k, nil
}

// logRoot is the directory that has events/ in it: a configuration names
// either.
func logRoot(dir string) string {
	if filepath.Base(dir) == "events" {
		return filepath.Dir(dir)
	}
	return dir
}

// Put implements stream.Sink.
func (k *gatewayKeep) Put(ctx context.Context, r *stream.Record) error {
	var errs []error
	if k.log != nil {
		errs = append(errs, k.log.Put(ctx, r))
	}
	if k.rows != nil {
		errs = append(errs, k.rows.Write(table.RowOf(r)))
	}
	return errors.Join(errs...)
}

// close ends the log and the store. whole says that the gateway ended as it
// should: its run is then no longer marked as partial.
func (k *gatewayKeep) close(whole bool) error {
	var errs []error
	if k.log != nil {
		errs = append(errs, k.log.Close())
	}
	if k.rows != nil {
		errs = append(errs, k.rows.Close())
	}
	if k.store != nil {
		if whole && errors.Join(errs...) == nil {
			errs = append(errs, k.finishRun())
		}
		errs = append(errs, k.store.Close())
	}
	return errors.Join(errs...)
}

// finishRun says in the store that the run is whole.
func (k *gatewayKeep) finishRun() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	k.run.Partial = false
	return k.store.PutRun(ctx, k.run)
}
