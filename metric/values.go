package metric

import (
	"encoding/json"
	"maps"
	"slices"

	"weir/stream"
)

// Values are all the numbers of one record.
type Values struct {
	// Shape is the shape of the stream, "" where it never spoke.
	Shape string
	// TokenSource says where T comes from: usage, events, or "" where missing.
	TokenSource string
	// K1Source says where k1 comes from: events, spread, or "" where missing.
	K1Source string
	// FluidityBasis says what fluidity_index counted: tokens, chars, or "".
	FluidityBasis string
	// FirstKind is the kind of the first event, "" where there is none.
	FirstKind string
	// GapMaxOpen is true where gap_max is the open gap of an unfinished stream.
	GapMaxOpen bool

	vals []named // what is not missing, in the order of Names
}

// named is one value under its metric's name. A list takes a quarter of a map's
// memory, and a long run holds these of every request.
type named struct {
	name string
	Value
}

// Measure computes every metric of a record. It is pure and keeps nothing of r.
func Measure(r *stream.Record) Values {
	v := newView(r)
	out := Values{
		Shape: v.shape(), TokenSource: v.tokens.source, K1Source: v.tokens.k1Source,
		FluidityBasis: v.fluid.basis, FirstKind: v.firstKind(), GapMaxOpen: v.gapMaxOpen(),
		vals: make([]named, 0, len(All)),
	}
	for i := range All {
		out.set(All[i].Name, All[i].of(v))
	}
	stages := v.stages()
	for _, name := range slices.Sorted(maps.Keys(stages)) {
		out.set(StagePrefix+name, stages[name])
	}
	marks := v.userMarks()
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		out.set(MarkPrefix+name, marks[name])
	}
	calls := v.toolsByName()
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		out.set(ToolPrefix+name, calls[name])
	}
	out.vals = slices.Clone(out.vals) // without the room that was not used
	return out
}

// Glance is what is counted of every stream when it ends: its ttft and
// first_text, as Measure gives them, and its series, as Observe does. It spares
// the other measures, which cost several times as much.
func Glance(r *stream.Record) (ttft, firstText Value, rhythm Series) {
	v := glance(r)
	return v.scheduled(v.ttft()), v.scheduled(v.firstText()), v.rhythm
}

func (v *Values) set(name string, x Value) {
	if x.Is == Missing {
		return
	}
	v.vals = append(v.vals, named{name, x})
}

// at is the value under exactly this name.
func (v Values) at(name string) Value {
	for i := range v.vals {
		if v.vals[i].name == name {
			return v.vals[i].Value
		}
	}
	return Value{}
}

// Get returns a metric's value by its name or JSON key; Missing where it is
// not known or there is no such metric. A user's mark is found by its own name
// too, where no metric has it.
func (v Values) Get(name string) Value {
	if x := v.at(name); x.Is != Missing {
		return x
	}
	if m, ok := Lookup(name); ok {
		return v.at(m.Name)
	}
	return v.at(MarkPrefix + name)
}

// Names lists the metrics that are not missing, in the order of All, then the
// stages, the user's marks and the tools by name.
func (v Values) Names() []string {
	names := make([]string, len(v.vals))
	for i := range v.vals {
		names[i] = v.vals[i].name
	}
	return names
}

// MarshalJSON writes one object: every metric of All and every dynamic one of
// this record under its JSON key, a number or null, then shape, token_source,
// k1_source, fluidity_basis, first_event_kind, gap_max_open.
func (v Values) MarshalJSON() ([]byte, error) {
	return json.Marshal(v.Fields())
}

// Fields is the content of MarshalJSON, for a caller that adds keys of its own.
func (v Values) Fields() map[string]any {
	out := make(map[string]any, len(All)+6)
	for i := range All {
		out[All[i].JSON] = nil
	}
	for _, x := range v.vals {
		m, _ := Lookup(x.name)
		if f, ok := x.Get(); ok {
			out[m.JSON] = f
		} else {
			out[m.JSON] = nil
		}
	}
	out["shape"], out["token_source"], out["k1_source"] = orNil(v.Shape), orNil(v.TokenSource), orNil(v.K1Source)
	out["fluidity_basis"], out["first_event_kind"] = orNil(v.FluidityBasis), orNil(v.FirstKind)
	out["gap_max_open"] = v.GapMaxOpen
	return out
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
