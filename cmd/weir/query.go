package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/metric"
	"weir/report"
	"weir/store"
	"weir/table"
)

const queryExamples = `  weir query --run last
  weir query 'ttft_ms > 2000 && label.region == "eu"' --by scenario,conn
  weir query 'never(mark.handoff)' --run last --rows
  weir query --metric ttft,gap_p95,mark.handoff --by run,scenario -o csv`

const queryLong = `Filters and summarises the rows that are kept in weir.db, or where --db says.

The filter is an expression over every metric, by its name or JSON key,
stage.NAME and mark.NAME included, label.NAME, and the fields of a row:
%sindex, in_flight, start.

A value that a stream never reached is larger than any number; of one that is
only known to exceed a bound, a row passes where the answer is certain.
missing(x), reached(x), over(x) and never(x) ask for that.

Rows sent while a load warmed up are left out unless --warmup is given.`

// queryMetrics are summarised unless --metric names others.
var queryMetrics = []string{"ttft", "first_text", "useful", "complete", "gap_p50", "gap_p95", "gap_max", "stall_rate", "rate_e2e", "rate_decode"}

// rowMetrics are shown of each row unless --metric names others.
var rowMetrics = []string{"ttft", "first_text", "complete", "gap_max", "rate_e2e"}

// queryBy are the fields by which METRICS §8.1 keeps rows apart.
const queryBy = "run,scenario,phase,hop,conn,concurrency"

// maxQueryRows bounds what one query holds in memory.
const maxQueryRows = 2_000_000

type queryFlags struct {
	db, by, output string
	runs, metrics  []string
	rows, warmup   bool
}

func newQueryCmd() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:     "query [FILTER]",
		Short:   "Filter, group and summarise the rows of the runs that are kept",
		Long:    fmt.Sprintf(queryLong, fieldList()),
		Example: queryExamples,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("weir query takes one filter, got %d: put it into quotes", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runQuery(cmd, strings.Join(args, ""), f) },
	}
	fl := cmd.Flags()
	dbFlag(cmd, &f.db)
	fl.StringArrayVar(&f.runs, "run", nil, "only this `RUN`, repeatable (default: all)")
	fl.StringVar(&f.by, "by", queryBy, "group by these `FIELDS`, comma-separated, label.NAME included; \"\" for none")
	fl.StringSliceVar(&f.metrics, "metric", nil, "`METRICS` to summarise, comma-separated (default: the headline ones)")
	fl.BoolVar(&f.rows, "rows", false, "the rows themselves; with -o json one a line, as in rows.jsonl")
	fl.BoolVar(&f.warmup, "warmup", false, "count rows of the warm-up too")
	fl.StringVarP(&f.output, "output", "o", "text", "`text|json|csv`")
	return cmd
}

// fieldList names the fields of a row, ten a line.
func fieldList() string {
	var b strings.Builder
	for line := range slices.Chunk(table.FieldNames(), 10) {
		b.WriteString(strings.Join(line, ", ") + ",\n")
	}
	return b.String()
}

func runQuery(cmd *cobra.Command, where string, f queryFlags) error {
	format, err := oneOf(report.QueryFormats, f.output, func(f report.QueryFormat) string { return f.Name })
	if err != nil {
		return err
	}
	q := report.Query{Where: where, By: commaList(f.by), Names: queryMetrics, View: viewOf(cmd)}
	if f.rows {
		q.Names = rowMetrics
		if !cmd.Flags().Changed("by") {
			q.By = nil // rows keep their order
		}
	}
	if len(f.metrics) > 0 {
		if q.Names, err = metricNames(f.metrics); err != nil {
			return err
		}
	}
	ask := table.Query{Where: where, Measured: !f.warmup}
	if !f.rows || f.output == "text" { // a row that is written whole needs all of them
		ask.Metrics = q.Names
	}
	if err := checkQuery(ask, q.By); err != nil {
		return err
	}
	return withRuns(cmd, f.db, false, func(s store.Store) error {
		rows, err := rowsOf(cmd, s, ask, f.runs)
		if err != nil {
			return err
		}
		q.Rows, q.Runs = len(rows), distinctRuns(rows)
		if q.Groups, err = table.GroupBy(rows, q.By...); err != nil {
			return err
		}
		if f.rows {
			return format.Rows(cmd.OutOrStdout(), q)
		}
		return format.Summary(cmd.OutOrStdout(), q)
	})
}

// checkQuery finds the user's mistakes before anything is read.
func checkQuery(q table.Query, by []string) error {
	if _, err := q.Filter(); err != nil {
		return usagef("%w", err)
	}
	if _, err := table.GroupBy(nil, by...); err != nil {
		return usagef("--by: %w", err)
	}
	return nil
}

func metricNames(asked []string) ([]string, error) {
	var names []string
	for _, name := range asked {
		m, ok := metric.Lookup(strings.TrimSpace(name))
		if !ok {
			return nil, usagef("--metric: there is no metric %q; there are %s, stage.NAME and mark.NAME", clip(name, 40), allMetrics())
		}
		names = append(names, m.Name)
	}
	return names, nil
}

func allMetrics() string {
	var names []string
	for _, m := range metric.All {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// rowsOf reads the rows of the runs, in their order; of all without refs.
func rowsOf(cmd *cobra.Command, s store.Store, q table.Query, refs []string) ([]table.Row, error) {
	ids := []string{""}
	if len(refs) > 0 {
		ids = nil
	}
	for _, ref := range refs {
		r, err := findRun(cmd, s, ref)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	var rows []table.Row
	for _, id := range ids {
		q.Run = id
		for r, err := range s.Rows(cmd.Context(), q) {
			if err != nil {
				return nil, err
			}
			if len(rows) == maxQueryRows {
				return nil, usagef("more than %d rows pass: narrow the query with --run or a filter", maxQueryRows)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func distinctRuns(rows []table.Row) int {
	seen := map[string]bool{}
	for i := range rows {
		seen[rows[i].Run] = true
	}
	return len(seen)
}
