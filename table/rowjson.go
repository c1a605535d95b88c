package table

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"weir/metric"
	"weir/stat"
	"weir/stream"
)

// rowJSON is a row as one JSON object: nothing of the row is lost. In metrics
// a number is a reached value and null one that was not reached; states says
// of each null whether the stream failed before it ("never") or was cut, so
// that it is only known to exceed a bound ({"over": 5000}). What is not there
// is missing. Fixed metrics go by their JSON key, dynamic ones by their name,
// which has a dot.
type rowJSON struct {
	Request  string            `json:"request"`
	Run      string            `json:"run,omitempty"`
	Index    int               `json:"index"`
	Choice   int               `json:"choice"`
	Scenario string            `json:"scenario,omitempty"`
	Phase    string            `json:"phase,omitempty"`
	Warmup   bool              `json:"warmup,omitempty"`
	Conn     string            `json:"conn,omitempty"`
	Hop      string            `json:"hop,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Start    *time.Time        `json:"start"`
	Target   string            `json:"target,omitempty"`
	Dialect  string            `json:"dialect,omitempty"`
	Model    string            `json:"model,omitempty"`
	HTTP     string            `json:"http,omitempty"`
	Stamp    stream.Stamp      `json:"stamp,omitempty"`
	Streamed bool              `json:"streamed"`
	Whole    bool              `json:"whole,omitempty"`
	InFlight stream.Maybe[int] `json:"in_flight"`
	Outcome  stream.Outcome    `json:"outcome"`
	Reason   string            `json:"reason,omitempty"`
	Finish   string            `json:"finish,omitempty"`

	Shape         string `json:"shape,omitempty"`
	TokenSource   string `json:"token_source,omitempty"`
	K1Source      string `json:"k1_source,omitempty"`
	FluidityBasis string `json:"fluidity_basis,omitempty"`
	FirstKind     string `json:"first_event_kind,omitempty"`
	GapMaxOpen    bool   `json:"gap_max_open,omitempty"`

	Metrics map[string]*float64 `json:"metrics"`
	States  map[string]Unmet    `json:"states,omitempty"`
}

// MarshalJSON writes the row as one object from which UnmarshalJSON makes the
// same row again. A value that is no finite number is an error.
func (r Row) MarshalJSON() ([]byte, error) {
	o := rowJSON{
		Request: r.Request, Run: r.Run, Index: r.Index, Choice: r.Choice, Scenario: r.Scenario, Phase: r.Phase,
		Warmup: r.Warmup, Conn: r.Conn, Hop: r.Hop, Labels: r.Labels, Target: r.Target, Dialect: r.Dialect,
		Model: r.Model, HTTP: r.HTTP, Stamp: r.Stamp, Streamed: r.Streamed, Whole: r.Whole, InFlight: r.InFlight,
		Outcome: r.Outcome, Reason: r.Reason, Finish: r.Finish,
		Shape: r.Values.Shape, TokenSource: r.Values.TokenSource, K1Source: r.Values.K1Source,
		FluidityBasis: r.Values.FluidityBasis, FirstKind: r.Values.FirstKind, GapMaxOpen: r.Values.GapMaxOpen,
		Metrics: map[string]*float64{},
	}
	if !r.Start.IsZero() {
		start := r.Start.UTC()
		o.Start = &start
	}
	for _, name := range r.Values.Names() {
		x, key := r.Values.Get(name), keyOf(name)
		if v, ok := x.Get(); ok {
			o.Metrics[key] = &v
			continue
		}
		if o.States == nil {
			o.States = map[string]Unmet{}
		}
		o.Metrics[key], o.States[key] = nil, Unmet(x)
	}
	return json.Marshal(o)
}

// UnmarshalJSON reads what MarshalJSON wrote. Metrics that this weir does not
// know are left out; ReadRows says which.
func (r *Row) UnmarshalJSON(b []byte) error {
	_, err := r.decode(b)
	return err
}

// decode also returns the metrics it did not know.
func (r *Row) decode(b []byte) (unknown []string, err error) {
	var o rowJSON
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, err
	}
	if o.Metrics == nil {
		return nil, errors.New(`not a row: a row is an object with "request", "metrics" and more`)
	}
	vals := make(map[string]metric.Value, len(o.Metrics))
	for key, v := range o.Metrics {
		m, ok := metric.Lookup(key)
		state, unmet := o.States[key]
		switch {
		case !ok || keyOf(m.Name) != key:
			unknown = append(unknown, key)
		case v != nil && !unmet:
			vals[m.Name] = stat.At(*v)
		case v == nil && unmet:
			vals[m.Name] = metric.Value(state)
		default:
			return nil, fmt.Errorf("metric %s: a null needs its reason in states, and only a null has one", key)
		}
	}
	if o.Start != nil {
		if y := o.Start.UTC().Year(); y < 0 || y > 9999 { // RFC 3339 has four digits for it
			return nil, fmt.Errorf("start %v: in UTC it is outside the years 0 to 9999", o.Start)
		}
	}
	if len(o.Labels) == 0 {
		o.Labels = nil // as it is written
	}
	*r = o.row()
	r.Values = r.Values.With(vals)
	return unknown, nil
}

func (o rowJSON) row() Row {
	r := Row{
		Key: Key{
			Request: o.Request, Run: o.Run, Index: o.Index, Choice: o.Choice, Scenario: o.Scenario,
			Phase: o.Phase, Warmup: o.Warmup, Conn: o.Conn, Hop: o.Hop, Labels: o.Labels,
		},
		Target: o.Target, Dialect: o.Dialect, Model: o.Model, HTTP: o.HTTP, Stamp: o.Stamp, Streamed: o.Streamed,
		Whole: o.Whole, InFlight: o.InFlight, Outcome: o.Outcome, Reason: o.Reason, Finish: o.Finish,
		Values: metric.Values{
			Shape: o.Shape, TokenSource: o.TokenSource, K1Source: o.K1Source,
			FluidityBasis: o.FluidityBasis, FirstKind: o.FirstKind, GapMaxOpen: o.GapMaxOpen,
		},
	}
	if o.Start != nil {
		r.Start = o.Start.UTC()
	}
	return r
}

// keyOf is what a metric goes by where rows are kept: its JSON key, or of a
// dynamic one its name, which cannot collide with a key.
func keyOf(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	m, _ := metric.Lookup(name)
	return m.JSON
}

// Unmet is what is kept of a value that was not reached: in JSON "never", or
// {"over": bound}.
type Unmet metric.Value

// MarshalJSON writes the state.
func (u Unmet) MarshalJSON() ([]byte, error) {
	switch u.Is {
	case metric.Never:
		return []byte(`"never"`), nil
	case metric.Over:
		return json.Marshal(map[string]float64{"over": u.V})
	}
	return nil, fmt.Errorf("a value that is %s is not kept as a state", u.Is)
}

// UnmarshalJSON reads the state.
func (u *Unmet) UnmarshalJSON(b []byte) error {
	var over struct {
		Over *float64 `json:"over"`
	}
	switch {
	case string(b) == `"never"`:
		*u = Unmet{Is: metric.Never}
	case json.Unmarshal(b, &over) == nil && over.Over != nil:
		*u = Unmet{V: *over.Over, Is: metric.Over}
	default:
		return fmt.Errorf(`the state %.40s of a value is neither "never" nor {"over": number}`, b)
	}
	return nil
}

// maxLine bounds one line of a file of rows, in bytes.
const maxLine = 4 << 20

// WriteRows writes rows as JSON Lines: a row a line.
func WriteRows(w io.Writer, rows []Row) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range rows {
		if err := enc.Encode(rows[i]); err != nil {
			return fmt.Errorf("row of request %s: %w", rows[i].Request, err)
		}
	}
	return nil
}

// ReadRows reads JSON Lines of rows; errors name the file by name, and the
// line. A torn last line, as a crash leaves it, is skipped, and metrics that
// this weir does not know are left out: warnings say so.
func ReadRows(r io.Reader, name string) (rows []Row, warnings []string, err error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	var strange []string
	var torn error // set by a line that ends inside its JSON: fine if it is the last
	for line := 1; sc.Scan(); line++ {
		if torn != nil {
			return nil, nil, torn
		}
		if len(strings.TrimSpace(sc.Text())) == 0 {
			continue
		}
		var row Row
		unknown, err := row.decode(sc.Bytes())
		if err != nil {
			err = fmt.Errorf("%s:%d: %w", name, line, err)
			if !cutShort(err, len(sc.Bytes())) {
				return nil, nil, err
			}
			torn = err
			continue
		}
		strange = append(strange, unknown...)
		rows = append(rows, row)
	}
	if err := sc.Err(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if torn != nil {
		warnings = append(warnings, fmt.Sprintf("skipped the last line, which is cut: %v", torn))
	}
	if strange = distinct(strange); len(strange) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: left out metrics that this weir does not know: %s",
			name, strings.Join(strange, ", ")))
	}
	return rows, warnings, nil
}

// cutShort reports whether the JSON of a line was well until the line ended.
func cutShort(err error, length int) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Offset >= int64(length)
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
