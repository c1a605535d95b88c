package table

import (
	"fmt"
	"strings"
)

// Filter keeps the rows whose field has the value.
type Filter struct {
	Field string // one of FieldNames, or label.NAME
	Value string
	Not   bool // keep the others instead
}

// Where returns the rows that pass every filter. An unknown field is an error
// that lists the known ones.
func Where(rows []Row, filters ...Filter) ([]Row, error) {
	var out []Row
	fs := make([]field, len(filters))
	for i, f := range filters {
		var err error
		if fs[i], err = known(f.Field); err != nil {
			return nil, err
		}
	}
next:
	for i := range rows {
		for j, f := range filters {
			if (fs[j].get(&rows[i]) == f.Value) == f.Not {
				continue next
			}
		}
		out = append(out, rows[i])
	}
	return out, nil
}

func known(name string) (field, error) {
	f, ok := lookup(name)
	if !ok {
		return field{}, fmt.Errorf("rows have no field %q; there are %s and %sNAME",
			name, strings.Join(FieldNames(), ", "), LabelPrefix)
	}
	return f, nil
}

// Pair is one field of a group's key with its value.
type Pair struct{ Field, Value string }

// Group is rows that agree in some fields.
type Group struct {
	Key  []Pair
	Rows []Row
}

// Value is the group's value of a field it was grouped by, or "".
func (g Group) Value(field string) string {
	for _, p := range g.Key {
		if p.Field == field {
			return p.Value
		}
	}
	return ""
}

// GroupBy groups rows by fields, in the order in which the groups first
// appear. Without fields all rows are one group. An unknown field is an error.
func GroupBy(rows []Row, by ...string) ([]Group, error) {
	fs := make([]field, len(by))
	for i, name := range by {
		var err error
		if fs[i], err = known(name); err != nil {
			return nil, err
		}
	}
	var groups []Group
	index := map[string]int{}
	for i := range rows {
		key := make([]Pair, len(fs))
		id := strings.Builder{}
		for j, f := range fs {
			key[j] = Pair{f.name, f.get(&rows[i])}
			fmt.Fprintf(&id, "%d:%s", len(key[j].Value), key[j].Value)
		}
		at, ok := index[id.String()]
		if !ok {
			at = len(groups)
			index[id.String()] = at
			groups = append(groups, Group{Key: key})
		}
		groups[at].Rows = append(groups[at].Rows, rows[i])
	}
	return groups, nil
}
