package table

import "fmt"

// Query says which rows are wanted. Its zero wants every row of every run.
type Query struct {
	Run   string // id of a run; "" = every run
	Where string // a filter, see Predicate
	// Measured leaves out what was sent while a load warmed up: no figure
	// counts it.
	Measured bool
	// Metrics names the metrics that the rows need to carry beside those that
	// Where reads; empty = all. Rows may carry more.
	Metrics []string
}

// Filter compiles the query to what decides about each row.
func (q Query) Filter() (func(*Row) bool, error) {
	p, err := NewPredicate(q.Where)
	if err != nil {
		return nil, err
	}
	return func(r *Row) bool {
		return (q.Run == "" || r.Run == q.Run) && !(q.Measured && r.Warmup) && p.Match(r)
	}, nil
}

// Needs lists the metrics that rows must carry; nil means all.
func (q Query) Needs() ([]string, error) {
	if len(q.Metrics) == 0 {
		return nil, nil
	}
	p, err := NewPredicate(q.Where)
	if err != nil {
		return nil, err
	}
	return distinct(append(p.Metrics(), q.Metrics...)), nil
}

// Select returns the rows that a query wants, of those at hand.
func Select(rows []Row, q Query) ([]Row, error) {
	want, err := q.Filter()
	if err != nil {
		return nil, fmt.Errorf("select rows: %w", err)
	}
	var out []Row
	for i := range rows {
		if want(&rows[i]) {
			out = append(out, rows[i])
		}
	}
	return out, nil
}
