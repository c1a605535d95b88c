package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"weir/metric"
	"weir/store"
	"weir/table"
)

// Put stores rows in one transaction; see store.Store.
func (s *Store) Put(ctx context.Context, run string, rows []table.Row) error {
	if s.w == nil {
		return errReadOnly
	}
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return s.explain("store rows in", err)
	}
	defer tx.Rollback()
	var one int
	err = tx.QueryRowContext(ctx, "SELECT 1 FROM runs WHERE id = ?", run).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %q must be stored before its rows", store.ErrNoRun, run)
	}
	if err == nil {
		err = s.insert(ctx, tx, run, rows)
	}
	if err == nil {
		err = tx.Commit()
	}
	return s.explain("store rows in", err)
}

func (s *Store) insert(ctx context.Context, tx *sql.Tx, run string, rows []table.Row) error {
	var names []string
	for _, c := range columns {
		names = append(names, quote(c.name))
	}
	names = append(names, metricColumns(s.all)...)
	statement, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO rows ("+strings.Join(names, ", ")+
		") VALUES (?"+strings.Repeat(", ?", len(names)-1)+")")
	if err != nil {
		return err
	}
	defer statement.Close()
	args := make([]any, 0, len(names))
	for i := range rows {
		r := rows[i]
		r.Run = run
		args = args[:0]
		for _, c := range columns {
			args = append(args, c.put(&r))
		}
		values, err := putValues(&r, s.all)
		if err != nil {
			return err
		}
		if _, err := statement.ExecContext(ctx, append(args, values...)...); err != nil {
			return err
		}
	}
	return nil
}

// metricColumns are the columns of metrics, then dynamic and states.
func metricColumns(of []metric.Metric) []string {
	var names []string
	for _, m := range of {
		names = append(names, quote(m.JSON))
	}
	return append(names, dynamicColumn, statesColumn)
}

// Rows gives the rows that a query wants; see store.Store. The run and the
// metrics decide in SQL what is read, the filter decides on rows: it has one
// meaning in every store.
func (s *Store) Rows(ctx context.Context, q table.Query) iter.Seq2[table.Row, error] {
	return func(yield func(table.Row, error) bool) {
		want, err := q.Filter()
		if err != nil {
			yield(table.Row{}, err)
			return
		}
		have, err := s.needed(q)
		if err != nil {
			yield(table.Row{}, err)
			return
		}
		query, args := selectRows(have, q)
		rows, err := s.r.QueryContext(ctx, query, args...)
		if err != nil {
			yield(table.Row{}, s.explain("read rows of", err))
			return
		}
		defer rows.Close()
		if err := each(rows, have, func(r *table.Row) bool { return !want(r) || yield(*r, nil) }); err != nil {
			yield(table.Row{}, s.explain("read rows of", err))
		}
	}
}

// needed are the metrics to read for a query.
func (s *Store) needed(q table.Query) ([]metric.Metric, error) {
	names, err := q.Needs()
	if err != nil || names == nil {
		return s.have, err
	}
	wanted := map[string]bool{}
	for _, name := range names {
		if m, ok := metric.Lookup(name); ok {
			wanted[m.Name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(s.have), func(m metric.Metric) bool { return !wanted[m.Name] }), nil
}

func selectRows(have []metric.Metric, q table.Query) (string, []any) {
	var names, where []string
	var args []any
	for _, c := range columns {
		names = append(names, quote(c.name))
	}
	names = append(names, metricColumns(have)...)
	if q.Run != "" {
		where, args = append(where, "run = ?"), append(args, q.Run)
	}
	if q.Measured {
		where = append(where, "warmup = 0")
	}
	query := "SELECT " + strings.Join(names, ", ") + " FROM rows"
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	return query + " ORDER BY run, position, choice, hop, request", args
}

// each makes rows of what was read, until do returns false.
func each(rows *sql.Rows, have []metric.Metric, do func(*table.Row) bool) error {
	cells := make([]any, len(columns)+len(have)+2)
	into := make([]any, len(cells))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		var r table.Row
		for i, c := range columns {
			if err := c.set(&r, cells[i]); err != nil {
				return err
			}
		}
		if err := setValues(&r, have, cells[len(columns):]); err != nil {
			return fmt.Errorf("request %s of run %s: %w", r.Request, r.Run, err)
		}
		if !do(&r) {
			return nil
		}
	}
	return rows.Err()
}
