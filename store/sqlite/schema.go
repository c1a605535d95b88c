package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weir/metric"
)

// schemaVersion numbers what cannot be reached by adding columns. A file of a
// higher number is refused.
const schemaVersion = 1

// applicationID marks the file as weir's ("WEIR"), so that another program's
// is never written to.
const applicationID = 0x57454952

const createRuns = `CREATE TABLE IF NOT EXISTS runs (
	id TEXT PRIMARY KEY NOT NULL,
	kind TEXT NOT NULL, start TEXT, target TEXT NOT NULL, dialect TEXT NOT NULL, model TEXT NOT NULL,
	seed TEXT NOT NULL, verdict TEXT NOT NULL, health TEXT NOT NULL, partial INTEGER NOT NULL,
	labels TEXT, tags TEXT NOT NULL DEFAULT '[]',
	run TEXT NOT NULL
) STRICT, WITHOUT ROWID`

// createIndex is the identity of a row, and the order in which rows are given.
const createIndex = `CREATE UNIQUE INDEX IF NOT EXISTS rows_identity ON rows (run, position, choice, hop, request)`

// createView has the article's columns. One definition per number holds here
// too: ttft_ms is from when the request was due, gaps are those known
// (METRICS §4, §6); for gaps that count unknown ones as 0 see gap0_p95_ms in rows.
// Warm-up and paths beside the main one are left out.
const createView = `CREATE VIEW article_metrics AS SELECT
	request AS request_id,
	ttft_ms,
	rate_e2e_tps,
	rate_stream_tps,
	gap_p95_ms AS p95_gap_ms,
	gap_max_ms AS max_gap_ms,
	stall_rate,
	done_ms IS NOT NULL AS done_received,
	tokens AS total_tokens,
	start AS created_at
FROM rows WHERE warmup = 0 AND hop = ''`

// definitions are the columns that the table rows should have.
func definitions(all []metric.Metric) []column {
	out := slices.Clone(columns)
	out = append(out, column{name: dynamicColumn, decl: "TEXT"}, column{name: statesColumn, decl: "TEXT"})
	for _, m := range all {
		out = append(out, column{name: m.JSON, decl: "REAL"})
	}
	return out
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// identity is what a file says of itself.
type identity struct {
	application, version, tables int
	columns                      []string // of rows
	view                         string
}

// identify asks in one statement, so that it sees one state of the file while
// another process makes it.
func identify(ctx context.Context, q querier) (id identity, err error) {
	var columns string
	err = q.QueryRowContext(ctx, `SELECT a.application_id, v.user_version,
		(SELECT count(*) FROM sqlite_master),
		(SELECT json_group_array(name) FROM pragma_table_info('rows')),
		(SELECT coalesce(max(sql), '') FROM sqlite_master WHERE type = 'view' AND name = 'article_metrics')
		FROM pragma_application_id AS a, pragma_user_version AS v`,
	).Scan(&id.application, &id.version, &id.tables, &columns, &id.view)
	if err != nil {
		return id, err
	}
	return id, json.Unmarshal([]byte(columns), &id.columns)
}

// fresh: nothing was ever stored in the file.
func (id identity) fresh() bool { return id.application == 0 && id.version == 0 && id.tables == 0 }

// check refuses what is not weir's, or is newer than this weir.
func (id identity) check(path string) error {
	switch {
	case id.application != applicationID:
		return fmt.Errorf("%s is the database of another program: give another file", path)
	case id.version > schemaVersion:
		return fmt.Errorf("%s was written by a newer weir (schema %d, this one knows %d): update weir, or give another file",
			path, id.version, schemaVersion)
	}
	return nil
}

// missing are the columns that the file lacks.
func (id identity) missing(all []metric.Metric) []column {
	return slices.DeleteFunc(definitions(all), func(c column) bool { return slices.Contains(id.columns, c.name) })
}

// current: there is nothing to migrate.
func (id identity) current(all []metric.Metric) bool {
	return id.application == applicationID && id.version == schemaVersion && id.view == createView && len(id.missing(all)) == 0
}

// migrate brings a file to the present schema, by adding. It runs in one
// transaction, which looks again: another process may have been first.
func migrate(ctx context.Context, db *sql.DB, path string, all []metric.Metric) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	id, err := identify(ctx, tx)
	if err != nil {
		return err
	}
	if !id.fresh() {
		if err := id.check(path); err != nil {
			return err
		}
	}
	for _, statement := range id.steps(all) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// steps are the statements that bring the file to the present schema.
func (id identity) steps(all []metric.Metric) []string {
	steps := []string{createRuns}
	if len(id.columns) == 0 {
		var defs []string
		for _, c := range definitions(all) {
			defs = append(defs, quote(c.name)+" "+c.decl)
		}
		steps = append(steps, "CREATE TABLE rows ("+strings.Join(defs, ", ")+") STRICT")
	} else {
		for _, c := range id.missing(all) {
			steps = append(steps, "ALTER TABLE rows ADD COLUMN "+quote(c.name)+" "+c.decl)
		}
	}
	steps = append(steps, createIndex)
	if id.view != createView {
		steps = append(steps, "DROP VIEW IF EXISTS article_metrics", createView)
	}
	return append(steps, fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
}
