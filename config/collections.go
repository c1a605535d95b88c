package config

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// pair is one key of a mapping with its value.
type pair struct {
	key, value *yaml.Node
}

// pairs lists a mapping's keys in their order; those merged in by << come
// first, so that the mapping's own win.
func (d *decoder) pairs(n *yaml.Node, at path) []pair {
	return d.pairsMerged(n, at, 0)
}

// maxMerges bounds how deep << may merge what merges itself.
const maxMerges = 8

func (d *decoder) pairsMerged(n *yaml.Node, at path, merges int) []pair {
	var merged, own []pair
	seen := map[string]*yaml.Node{}
	d.nodes += len(n.Content)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch first := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.fail(key, "a key%s is a list or a mapping: it must be a word", at.in())
			continue
		case first != nil:
			d.fail(key, "key %q%s is given twice, first in line %d", key.Value, at.in(), first.Line)
			continue
		}
		seen[key.Value] = key
		if key.ShortTag() == "!!merge" {
			merged = d.merge(value, at, merges+1)
		} else {
			own = append(own, pair{key, value})
		}
	}
	return append(merged, own...)
}

// merge lists what << brings in.
func (d *decoder) merge(value *yaml.Node, at path, merges int) []pair {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if value.Kind != yaml.MappingNode || merges > maxMerges {
		d.fail(value, "<<%s takes one mapping, which may merge others at most %d deep", at.in(), maxMerges)
		return nil
	}
	return d.pairsMerged(value, at, merges)
}

// field is one key that a struct takes.
type field struct {
	name  string
	index []int
}

// fields lists the keys of a struct type in the order of its fields.
func fields(t reflect.Type) []field {
	var list []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline" && f.Type.Kind() == reflect.Struct:
			for _, inner := range fields(f.Type) {
				list = append(list, field{inner.name, append([]int{i}, inner.index...)})
			}
		case !f.IsExported() || name == "-":
		case name == "":
			list = append(list, field{strings.ToLower(f.Name), []int{i}})
		default:
			list = append(list, field{name, []int{i}})
		}
	}
	return list
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, at path, depth int) {
	known := fields(v.Type())
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s is %s, not a mapping; it takes the keys %s", at.subject(), kindOf(n), names(known))
		return
	}
	for _, p := range d.pairs(n, at) {
		f, ok := find(known, p.key.Value)
		if !ok {
			d.fail(p.key, "unknown key %q%s; allowed: %s", p.key.Value, at.in(), names(known))
			continue
		}
		d.value(p.value, v.FieldByIndex(f.index), at.key(f.name), depth+1)
	}
}

func find(list []field, name string) (field, bool) {
	for _, f := range list {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func names(list []field) string {
	all := make([]string, len(list))
	for i, f := range list {
		all[i] = f.name
	}
	return strings.Join(all, ", ")
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, at path, depth int) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s is %s, not a mapping of names to values", at.subject(), kindOf(n))
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, p := range d.pairs(n, at) {
		key := reflect.New(v.Type().Key()).Elem()
		d.scalar(p.key, key, at)
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(p.value, item, at.key(p.key.Value), depth+1)
		v.SetMapIndex(key, item)
	}
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, at path, depth int) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, "%s is %s, not a list: write it as [ … ]", at.subject(), kindOf(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), 0, len(n.Content))
	for i, x := range n.Content {
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(x, item, at.index(i), depth+1)
		list = reflect.Append(list, item)
	}
	v.Set(list)
}

// any reads a value of no fixed type: map[string]any, []any, string, bool,
// int64, float64 or nil.
func (d *decoder) any(n *yaml.Node, v reflect.Value, at path, depth int) {
	if v.NumMethod() > 0 {
		d.fail(n, "%s cannot be written in a file", at.subject())
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		d.mapping(n, reflect.ValueOf(&m).Elem(), at, depth)
		v.Set(reflect.ValueOf(m))
	case yaml.SequenceNode:
		s := []any{}
		d.sequence(n, reflect.ValueOf(&s).Elem(), at, depth)
		v.Set(reflect.ValueOf(s))
	default:
		if x := d.anyScalar(n, at); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	}
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "empty"
	}
	return fmt.Sprintf("the value %q", short(n.Value))
}

func short(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
