package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"weir/store"
	"weir/table"
)

var errReadOnly = errors.New("the file was opened for reading only")

// PutRun stores a run; see store.Store. The columns beside run, which holds
// all of it, are for people's SQL.
func (s *Store) PutRun(ctx context.Context, r table.Run) error {
	if r.ID == "" {
		return errors.New("a run needs an id")
	}
	if s.w == nil {
		return errReadOnly
	}
	var tags any
	if r.Tags != nil {
		b, _ := json.Marshal(r.Tags) // strings always can be
		tags = string(b)
	}
	labels := any(nil)
	if r.Labels != nil {
		labels = orNull(r.Labels)
	}
	kept := r
	kept.Tags, kept.Rows = nil, 0
	whole, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.ID, err)
	}
	_, err = s.w.ExecContext(ctx, `INSERT INTO runs
		(id, kind, start, target, dialect, model, seed, verdict, health, partial, labels, run, tags)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, coalesce(?13, '[]'))
		ON CONFLICT (id) DO UPDATE SET kind = ?2, start = ?3, target = ?4, dialect = ?5, model = ?6, seed = ?7,
		verdict = ?8, health = ?9, partial = ?10, labels = ?11, run = ?12, tags = coalesce(?13, tags)`,
		r.ID, r.Kind, timeText(r.Start), r.Target, r.Dialect, r.Model, strconv.FormatUint(r.Seed, 10),
		r.Decision(), r.Fitness(), r.Partial, labels, string(whole), tags)
	return s.explain("store a run in", err)
}

// Runs gives every run, oldest first; see store.Store.
func (s *Store) Runs(ctx context.Context) iter.Seq2[table.Run, error] {
	return func(yield func(table.Run, error) bool) {
		rows, err := s.r.QueryContext(ctx, `SELECT run, tags,
			(SELECT count(*) FROM rows WHERE rows.run = runs.id) FROM runs ORDER BY start, id`)
		if err != nil {
			yield(table.Run{}, s.explain("read the runs in", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var whole, tags string
			var n int
			err := rows.Scan(&whole, &tags, &n)
			r, bad := runOf(whole, tags, n)
			if err = errors.Join(err, bad); err != nil {
				yield(table.Run{}, s.explain("read the runs in", err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(table.Run{}, s.explain("read the runs in", err))
		}
	}
}

func runOf(whole, tags string, rows int) (r table.Run, err error) {
	if err := json.Unmarshal([]byte(whole), &r); err != nil {
		return r, fmt.Errorf("a run is stored as no JSON that weir wrote: %w", err)
	}
	if err := json.Unmarshal([]byte(tags), &r.Tags); err != nil {
		return r, fmt.Errorf("the tags of run %s: %w", r.ID, err)
	}
	if len(r.Tags) == 0 {
		r.Tags = nil
	}
	r.Rows = rows
	return r, nil
}

// DeleteRun removes a run and its rows; see store.Store. The file shrinks.
func (s *Store) DeleteRun(ctx context.Context, id string) error {
	if s.w == nil {
		return errReadOnly
	}
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return s.explain("delete a run from", err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "DELETE FROM rows WHERE run = ?", id); err != nil {
		return s.explain("delete a run from", err)
	}
	done, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE id = ?", id)
	if err != nil {
		return s.explain("delete a run from", err)
	}
	if n, err := done.RowsAffected(); err == nil && n == 0 {
		return fmt.Errorf("%w: %q", store.ErrNoRun, id)
	}
	if err := tx.Commit(); err != nil {
		return s.explain("delete a run from", err)
	}
	_, err = s.w.ExecContext(ctx, "PRAGMA incremental_vacuum")
	return s.explain("give back the space in", err)
}
