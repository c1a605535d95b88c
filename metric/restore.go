package metric

import (
	"maps"
	"slices"
	"strings"
)

// With returns v's facts with the given values, by metric name, in place of
// its own: what a store or a file kept of a record becomes Values again.
// Missing ones and names that are no metric are left out.
func (v Values) With(vals map[string]Value) Values {
	v.vals = make([]named, 0, len(vals))
	for i := range All {
		if x, ok := vals[All[i].Name]; ok {
			v.set(All[i].Name, x)
		}
	}
	names := slices.Sorted(maps.Keys(vals))
	for _, prefix := range prefixes {
		for _, name := range names {
			if Dynamic(name) && strings.HasPrefix(name, prefix) {
				v.set(name, vals[name])
			}
		}
	}
	return v
}
