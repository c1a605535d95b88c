package sqlite

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"weir/metric"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

// column is one column of the table rows, and the part of a row it keeps.
type column struct {
	name string
	decl string
	put  func(*table.Row) any
	set  func(*table.Row, any) error // v is nil, int64, float64 or string
}

func text[T ~string](name string, at func(*table.Row) *T) column {
	return column{
		name: name, decl: "TEXT NOT NULL DEFAULT ''",
		put: func(r *table.Row) any { return string(*at(r)) },
		set: func(r *table.Row, v any) error {
			s, ok := v.(string)
			*at(r) = T(s)
			return kept(ok || v == nil, name, v)
		},
	}
}

func integer(name string, at func(*table.Row) *int) column {
	return column{
		name: name, decl: "INTEGER NOT NULL DEFAULT 0",
		put: func(r *table.Row) any { return int64(*at(r)) },
		set: func(r *table.Row, v any) error {
			n, ok := v.(int64)
			*at(r) = int(n)
			return kept(ok, name, v)
		},
	}
}

func flag(name string, at func(*table.Row) *bool) column {
	return column{
		name: name, decl: "INTEGER NOT NULL DEFAULT 0",
		put: func(r *table.Row) any { return *at(r) },
		set: func(r *table.Row, v any) error {
			n, ok := v.(int64)
			*at(r) = n != 0
			return kept(ok, name, v)
		},
	}
}

func kept(ok bool, name string, v any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("the column %s holds %v, which weir did not write", name, v)
}

// columns are those that are not metrics. position is the row's index.
var columns = []column{
	text("run", func(r *table.Row) *string { return &r.Run }),
	integer("position", func(r *table.Row) *int { return &r.Index }),
	integer("choice", func(r *table.Row) *int { return &r.Choice }),
	text("hop", func(r *table.Row) *string { return &r.Hop }),
	text("request", func(r *table.Row) *string { return &r.Request }),
	text("scenario", func(r *table.Row) *string { return &r.Scenario }),
	text("phase", func(r *table.Row) *string { return &r.Phase }),
	flag("warmup", func(r *table.Row) *bool { return &r.Warmup }),
	text("conn", func(r *table.Row) *string { return &r.Conn }),
	{name: "labels", decl: "TEXT", put: putLabels, set: setLabels},
	{name: "start", decl: "TEXT", put: putStart, set: setStart},
	text("target", func(r *table.Row) *string { return &r.Target }),
	text("dialect", func(r *table.Row) *string { return &r.Dialect }),
	text("model", func(r *table.Row) *string { return &r.Model }),
	text("http", func(r *table.Row) *string { return &r.HTTP }),
	text("stamp", func(r *table.Row) *stream.Stamp { return &r.Stamp }),
	flag("streamed", func(r *table.Row) *bool { return &r.Streamed }),
	flag("whole", func(r *table.Row) *bool { return &r.Whole }),
	{name: "in_flight", decl: "INTEGER", put: putInFlight, set: setInFlight},
	text("outcome", func(r *table.Row) *stream.Outcome { return &r.Outcome }),
	text("reason", func(r *table.Row) *string { return &r.Reason }),
	text("finish", func(r *table.Row) *string { return &r.Finish }),
	text("shape", func(r *table.Row) *string { return &r.Values.Shape }),
	text("token_source", func(r *table.Row) *string { return &r.Values.TokenSource }),
	text("k1_source", func(r *table.Row) *string { return &r.Values.K1Source }),
	text("fluidity_basis", func(r *table.Row) *string { return &r.Values.FluidityBasis }),
	text("first_event_kind", func(r *table.Row) *string { return &r.Values.FirstKind }),
	flag("gap_max_open", func(r *table.Row) *bool { return &r.Values.GapMaxOpen }),
}

// Columns of the values that are no fixed metric; see the package comment.
const (
	dynamicColumn = "dynamic"
	statesColumn  = "states"
)

func putLabels(r *table.Row) any {
	if r.Labels == nil {
		return nil
	}
	b, _ := json.Marshal(r.Labels) // strings always can be
	return string(b)
}

func setLabels(r *table.Row, v any) error { return fromJSON("labels", v, &r.Labels) }

func fromJSON(name string, v, into any) error {
	s, ok := v.(string)
	if !ok {
		return kept(v == nil, name, v)
	}
	if err := json.Unmarshal([]byte(s), into); err != nil {
		return fmt.Errorf("the column %s: %w", name, err)
	}
	return nil
}

// timeLayout is fixed in width, so that texts sort as times.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

func timeText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(timeLayout)
}

func putStart(r *table.Row) any { return timeText(r.Start) }

func setStart(r *table.Row, v any) error {
	s, ok := v.(string)
	if !ok {
		return kept(v == nil, "start", v)
	}
	t, err := time.Parse(timeLayout, s)
	r.Start = t
	return kept(err == nil, "start", v)
}

func putInFlight(r *table.Row) any {
	if n, ok := r.InFlight.Get(); ok {
		return int64(n)
	}
	return nil
}

func setInFlight(r *table.Row, v any) error {
	n, ok := v.(int64)
	if ok {
		r.InFlight = stream.Some(int(n))
	}
	return kept(ok || v == nil, "in_flight", v)
}

// putValues returns a row's values: a number or nil per metric of all, then
// the columns dynamic and states.
func putValues(r *table.Row, all []metric.Metric) ([]any, error) {
	out := make([]any, len(all), len(all)+2)
	var dynamic map[string]*float64
	var states map[string]table.Unmet
	for _, name := range r.Values.Names() {
		x := r.Values.Get(name)
		if x.Is != metric.Never && (math.IsNaN(x.V) || math.IsInf(x.V, 0)) {
			return nil, fmt.Errorf("%s of request %s is %v, which is no number to keep", name, r.Request, x.V)
		}
		i, key := place(all, name)
		if i < 0 {
			if dynamic == nil {
				dynamic = map[string]*float64{}
			}
			dynamic[key] = nil
		}
		switch v, ok := x.Get(); {
		case ok && i >= 0:
			out[i] = v
		case ok:
			dynamic[key] = &v
		default:
			if states == nil {
				states = map[string]table.Unmet{}
			}
			states[key] = table.Unmet(x)
		}
	}
	return append(out, orNull(dynamic), orNull(states)), nil
}

// place is the position of a metric's column and what it goes by; -1 for one
// whose name comes from the stream.
func place(all []metric.Metric, name string) (int, string) {
	for i := range all {
		if all[i].Name == name {
			return i, all[i].JSON
		}
	}
	return -1, name
}

func orNull[T any](m map[string]T) any {
	if m == nil {
		return nil
	}
	b, _ := json.Marshal(m) // finite numbers and strings always can be
	return string(b)
}

// setValues is the reverse: cells are a number or nil per metric of have,
// then dynamic and states.
func setValues(r *table.Row, have []metric.Metric, cells []any) error {
	var dynamic map[string]*float64
	var states map[string]table.Unmet
	if err := fromJSON(dynamicColumn, cells[len(have)], &dynamic); err != nil {
		return err
	}
	if err := fromJSON(statesColumn, cells[len(have)+1], &states); err != nil {
		return err
	}
	vals := make(map[string]metric.Value, len(have)+len(dynamic))
	for i, m := range have {
		switch v := cells[i].(type) {
		case float64:
			vals[m.Name] = stat.At(v)
		case nil:
			if state, ok := states[m.JSON]; ok {
				vals[m.Name] = metric.Value(state)
			}
		default:
			return kept(false, m.JSON, v)
		}
	}
	for name, v := range dynamic {
		if v != nil {
			vals[name] = stat.At(*v)
		} else if state, ok := states[name]; ok {
			vals[name] = metric.Value(state)
		}
	}
	r.Values = r.Values.With(vals)
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
