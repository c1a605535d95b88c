package table

import (
	"strconv"
	"strings"
	"time"

	"weir/metric"
	"weir/stream"
)

// Labels by which a load says where a request belongs.
const (
	ScenarioLabel = "scenario"
	PhaseLabel    = "phase"
	WarmupLabel   = "warmup" // "true" on what is left out of figures
)

// Key says which answer a row is about.
type Key struct {
	Request  string // id of the answer: of one of several "id#index"
	Run      string
	Index    int // position in the run, from 0
	Choice   int
	Scenario string
	Phase    string // of the load, "" where there is none
	Warmup   bool   // sent while the load warmed up: left out of figures
	Conn     string // cold | warm | "" unknown
	Hop      string // "" = the main path
	Labels   map[string]string
}

// Row is one record, measured.
type Row struct {
	Key
	Start    time.Time // zero = unknown
	Target   string
	Dialect  string
	Model    string
	HTTP     string
	Stamp    stream.Stamp
	Streamed bool // a stream was asked for
	Whole    bool // the answer came as one body
	InFlight stream.Maybe[int]
	Outcome  stream.Outcome
	Reason   string
	Finish   string
	Values   metric.Values
}

// RowOf measures one record. It keeps the record's label map.
func RowOf(r *stream.Record) Row {
	return Row{
		Key: Key{
			Request: r.RequestID, Run: r.Run, Index: r.Index, Choice: r.Choice,
			Scenario: r.Labels[ScenarioLabel], Phase: r.Labels[PhaseLabel], Warmup: r.Labels[WarmupLabel] == "true",
			Conn: r.Conn, Hop: r.Hop, Labels: r.Labels,
		},
		Start: r.Start, Target: r.Target, Dialect: r.Dialect, Model: r.Model, HTTP: r.Facts.HTTPVersion,
		Stamp: r.Stamp, Streamed: r.Streamed, Whole: r.Whole, InFlight: r.InFlight,
		Outcome: r.Outcome, Reason: r.Reason, Finish: r.Finish, Values: metric.Measure(r),
	}
}

// Rows measures records, in their order.
func Rows(records []*stream.Record) []Row {
	rows := make([]Row, len(records))
	for i, r := range records {
		rows[i] = RowOf(r)
	}
	return rows
}

// field is a text field of a row by which rows are filtered and grouped.
type field struct {
	name string
	get  func(*Row) string
}

var fields = []field{
	{"request", func(r *Row) string { return r.Request }},
	{"run", func(r *Row) string { return r.Run }},
	{"scenario", func(r *Row) string { return r.Scenario }},
	{"phase", func(r *Row) string { return r.Phase }},
	{"warmup", func(r *Row) string { return strconv.FormatBool(r.Warmup) }},
	{"conn", func(r *Row) string { return r.Conn }},
	{"hop", func(r *Row) string { return r.Hop }},
	{"stream", func(r *Row) string { return onOff(r.Streamed) }},
	{"target", func(r *Row) string { return r.Target }},
	{"dialect", func(r *Row) string { return r.Dialect }},
	{"model", func(r *Row) string { return r.Model }},
	{"http", func(r *Row) string { return r.HTTP }},
	{"stamp", func(r *Row) string { return string(r.Stamp) }},
	{"outcome", func(r *Row) string { return string(r.Outcome) }},
	{"reason", func(r *Row) string { return r.Reason }},
	{"finish", func(r *Row) string { return r.Finish }},
	{"shape", func(r *Row) string { return r.Values.Shape }},
	{"concurrency", func(r *Row) string { return concurrency(r.InFlight) }},
	{"choice", func(r *Row) string { return strconv.Itoa(r.Choice) }},
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// concurrency keeps single requests apart from concurrent ones.
func concurrency(inFlight stream.Maybe[int]) string {
	switch n, ok := inFlight.Get(); {
	case !ok:
		return ""
	case n == 0:
		return "single"
	}
	return "concurrent"
}

// LabelPrefix begins the field name of a label: "label.region".
const LabelPrefix = "label."

// lookup finds a field by name, or a label by "label.NAME".
func lookup(name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	if label, ok := strings.CutPrefix(name, LabelPrefix); ok && label != "" {
		return field{name, func(r *Row) string { return r.Labels[label] }}, true
	}
	return field{}, false
}

// FieldNames lists the fields by which rows can be filtered and grouped; each
// label is one more, as "label.NAME".
func FieldNames() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}
