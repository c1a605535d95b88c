package gateway

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Schema is the JSON Schema of a configuration, for editors: made of the types
// that are decoded, so that no key can be missing.
func Schema() ([]byte, error) {
	root := schemaOf(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "weir gateway"
	root["required"] = []string{"upstreams", "routes"}
	b, err := json.MarshalIndent(root, "", "  ")
	return append(b, '\n'), err
}

// words are the types that take one of a few words.
func words(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[OpenMode]():
		return []string{string(Hold), string(Early)}
	case reflect.TypeFor[OnSilence]():
		return []string{string(MarkSilence), string(RetrySilent), string(EndSilence)}
	case reflect.TypeFor[SlowPolicy]():
		return []string{string(Block), string(Detach), string(Drop)}
	case reflect.TypeFor[KeyMode]():
		return []string{string(PassThrough), string(KeyFile)}
	}
	return nil
}

func schemaOf(t reflect.Type) map[string]any {
	if w := words(t); w != nil {
		return map[string]any{"enum": w}
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return map[string]any{"type": []string{"string", "integer"}, "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$|^\$\{`, "maximum": 0, "minimum": 0}
	case reflect.TypeFor[Bytes]():
		return map[string]any{"type": []string{"string", "integer"}, "pattern": `^[0-9]+ ?([KMG]iB)?$|^\$\{`, "minimum": 0}
	case reflect.TypeFor[URL](), reflect.TypeFor[RedisURL](), reflect.TypeFor[CIDR](), reflect.TypeFor[Ref](), reflect.TypeFor[DialectName]():
		return map[string]any{"type": "string"}
	case reflect.TypeFor[Protocol]():
		return map[string]any{"enum": []any{"1.1", "2", "h2c", 1.1, 2}}
	}
	return kindSchema(t)
}

func kindSchema(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		return objectSchema(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "string"}
}

func objectSchema(t reflect.Type) map[string]any {
	keys := map[string]any{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			keys[name] = schemaOf(t.Field(i).Type)
		}
	}
	return map[string]any{"type": "object", "properties": keys, "additionalProperties": false}
}
