package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// object is a JSON object whose first keys stand in a chosen order, for the
// eyes that will read it; the rest follow by name.
type object struct {
	first  []string
	fields map[string]any
}

// MarshalJSON writes the keys of first that there are, then the others.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, k := range o.keys() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(k); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(o.fields[k]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o object) keys() []string {
	var keys []string
	for _, k := range o.first {
		if _, ok := o.fields[k]; ok && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(o.fields)) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}
