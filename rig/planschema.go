package rig

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/judge"
	gen "weir/load"
)

// PlanSchema is the JSON Schema of a plan, for editors: made of what is
// decoded and of PlanKeys.
func PlanSchema() ([]byte, error) {
	docs := map[string]PlanKey{}
	for _, k := range allPlanKeys() {
		docs[k.Path] = k
	}
	root := schemaOf(reflect.TypeFor[LoadPlan](), "", docs)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "weir plan"
	root["required"] = []string{"target", "load", "scenarios"}
	b, err := json.MarshalIndent(root, "", "  ")
	return append(b, '\n'), err
}

var (
	durationType  = reflect.TypeFor[time.Duration]()
	rateType      = reflect.TypeFor[gen.Rate]()
	conditionType = reflect.TypeFor[judge.Condition]()
)

// schemaOf is the schema of a type at a path.
func schemaOf(t reflect.Type, path string, docs map[string]PlanKey) map[string]any {
	s := shapeOf(t, path, docs)
	if k, ok := docs[path]; ok {
		s["description"] = k.Doc
		if k.Default != "" {
			s["description"] = k.Doc + " (default: " + k.Default + ")"
		}
		if len(k.Allowed) > 0 {
			s["enum"] = allowedValues(k.Allowed)
			delete(s, "type")
		}
	}
	return s
}

// allowedValues adds the numbers that words look like: 1.1 needs no quotes.
func allowedValues(words []string) []any {
	var out []any
	for _, w := range words {
		out = append(out, w)
		if x, err := strconv.ParseFloat(w, 64); err == nil {
			out = append(out, x)
		}
	}
	return out
}

// variable is a value that comes from the environment.
const variable = `.*\$\{[A-Za-z_][A-Za-z0-9_]*\}.*`

func shapeOf(t reflect.Type, path string, docs map[string]PlanKey) map[string]any {
	switch t {
	case durationType:
		return map[string]any{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$|^` + variable + `$`}
	case rateType:
		return map[string]any{"type": "string", "pattern": `^[0-9.eE+]+ */ *(s|m|min|h)$|^` + variable + `$`}
	case conditionType:
		return conditionSchema()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem(), path, docs)
	case reflect.Struct:
		return objectOf(t, path, docs)
	case reflect.Map:
		inner := "NAME"
		if path != "" {
			inner = path + ".NAME"
		}
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), inner, docs)}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), path+"[]", docs)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	return map[string]any{"type": "integer"}
}

func conditionSchema() map[string]any {
	text := map[string]any{"type": "string"}
	return map[string]any{"anyOf": []any{text, map[string]any{
		"type": "object", "required": []string{"limit"}, "additionalProperties": false,
		"properties": map[string]any{"limit": text, "phase": text},
	}}}
}

func objectOf(t reflect.Type, path string, docs map[string]PlanKey) map[string]any {
	properties := map[string]any{}
	for _, f := range yamlFields(t) {
		key := f.key
		if path != "" {
			key = path + "." + f.key
		}
		properties[f.key] = schemaOf(f.of, key, docs)
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// yamlField is one key that a struct takes.
type yamlField struct {
	key string
	of  reflect.Type
}

// yamlFields lists the keys of a struct as package config reads them.
func yamlFields(t reflect.Type) []yamlField {
	var list []yamlField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			list = append(list, yamlFields(f.Type)...)
		case !f.IsExported() || name == "-":
		case name == "":
			list = append(list, yamlField{strings.ToLower(f.Name), f.Type})
		default:
			list = append(list, yamlField{name, f.Type})
		}
	}
	return list
}

// planPaths lists every key of a plan by reflection, in the order of types.
func planPaths(t reflect.Type, path string) []string {
	switch t {
	case durationType, rateType, conditionType:
		return nil
	}
	var out []string
	add := func(inner string, of reflect.Type) {
		out = append(out, inner)
		out = append(out, planPaths(of, inner)...)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return planPaths(t.Elem(), path)
	case reflect.Slice:
		if e := t.Elem(); e.Kind() == reflect.Struct && e != conditionType {
			return planPaths(e, path+"[]")
		} else if e != conditionType {
			add(path+"[]", e)
		}
	case reflect.Map:
		add(path+".NAME", t.Elem())
	case reflect.Struct:
		for _, f := range yamlFields(t) {
			inner := f.key
			if path != "" {
				inner = path + "." + f.key
			}
			if !slices.Contains(out, inner) {
				add(inner, f.of)
			}
		}
	}
	return out
}
