package metric

import (
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
	var dynamic []string
	for name := range vals {
		if strings.HasPrefix(name, StagePrefix) || strings.HasPrefix(name, MarkPrefix) {
			dynamic = append(dynamic, name)
		}
	}
	slices.Sort(dynamic)
	for _, prefix := range []string{StagePrefix, MarkPrefix} {
		for _, name := range dynamic {
			if s, ok := strings.CutPrefix(name, prefix); ok && s != "" {
				v.set(name, vals[name])
			}
		}
	}
	return v
}
