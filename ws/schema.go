package ws

import (
	"encoding/json"
	"reflect"
	"strings"
)

// field is a field of a message.
type field struct {
	name     string
	required bool
	doc      string
	t        reflect.Type
}

func fieldsOf(t reflect.Type) (list []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(list, field{name, rest != "omitempty", f.Tag.Get("doc"), f.Type})
	}
	return list
}

// Schema is the JSON Schema of every message, made of the types that are
// written and read, so that none can differ.
func Schema() ([]byte, error) {
	defs := map[string]any{}
	sides := map[string][]any{}
	for _, k := range Kinds {
		defs[k.Name] = k.schema()
		sides[k.From] = append(sides[k.From], map[string]any{"$ref": "#/$defs/" + k.Name})
	}
	defs["from_client"] = map[string]any{"oneOf": sides["client"]}
	defs["from_gateway"] = map[string]any{"oneOf": sides["gateway"]}
	defs["code"] = codeSchema()
	b, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "weir: messages of /weir/ws",
		"oneOf":   []any{map[string]any{"$ref": "#/$defs/from_client"}, map[string]any{"$ref": "#/$defs/from_gateway"}},
		"$defs":   defs,
	}, "", "  ")
	return append(b, '\n'), err
}

func (k Kind) schema() map[string]any {
	s := object(reflect.TypeOf(k.New()).Elem(), "type")
	s["description"] = k.Doc
	properties := s["properties"].(map[string]any)
	properties["type"] = map[string]any{"const": k.Name}
	if id, ok := properties["id"].(map[string]any); ok {
		id["pattern"] = "^[A-Za-z0-9._-]{1,64}$"
	}
	return s
}

// object is the schema of a struct; required are keys that it has beside its fields.
func object(t reflect.Type, required ...string) map[string]any {
	properties := map[string]any{}
	for _, f := range fieldsOf(t) {
		s := typeSchema(f.t)
		if kind, ok := s["type"]; ok && f.required && f.t.Kind() == reflect.Pointer { // it is there, without a value
			s["type"] = []any{kind, "null"}
		}
		if f.doc != "" {
			s["description"] = f.doc
		}
		properties[f.name] = s
		if f.required {
			required = append(required, f.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func codeSchema() map[string]any {
	var list []any
	for _, m := range Codes {
		list = append(list, map[string]any{"const": m.Code, "title": m.Name, "description": m.Text})
	}
	return map[string]any{"oneOf": list}
}

func typeSchema(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[Code]():
		return map[string]any{"$ref": "#/$defs/code"}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{} // any JSON value
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Struct:
		return object(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeSchema(t.Elem())}
	}
	return map[string]any{"type": "string"}
}
