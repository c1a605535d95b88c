package gateway

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// The shipped schema is that of the types; WEIR_UPDATE_SCHEMA=1 writes it.
func TestSchemaIsShipped(t *testing.T) {
	const file = "../docs/gateway.schema.json"
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("WEIR_UPDATE_SCHEMA") != "" {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not the schema of the configuration (%v); WEIR_UPDATE_SCHEMA=1 go test ./gateway -run Schema writes it", file, err)
	}
}

// Every configuration of the guide is good.
func TestGuideLoads(t *testing.T) {
	guide, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, part := range strings.Split(string(guide), "```yaml config\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		if _, err := Load("docs/gateway.md", []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		n++
	}
	if n < 4 {
		t.Errorf("%d configurations found", n)
	}
}

// The guide's first configuration has every key there is.
func TestGuideHasEveryKey(t *testing.T) {
	guide, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(guide), "## Every key, with its default")
	_, text, _ = strings.Cut(text, "```yaml config\n")
	text, _, _ = strings.Cut(text, "```")
	var told any
	if err := yaml.Unmarshal([]byte(text), &told); err != nil {
		t.Fatal(err)
	}
	haveKeys(t, "", reflect.TypeFor[Config](), told)
}

// haveKeys holds a part of the guide to the struct that it is read into.
func haveKeys(t *testing.T, at string, typ reflect.Type, told any) {
	switch list, isList := told.([]any); {
	case typ.Kind() == reflect.Map:
		for _, v := range told.(map[string]any) {
			haveKeys(t, at+".NAME", typ.Elem(), v)
		}
		return
	case isList && typ.Kind() == reflect.Slice && len(list) > 0:
		haveKeys(t, at+"[]", typ.Elem(), list[0])
		return
	}
	keys, _ := told.(map[string]any)
	if typ.Kind() != reflect.Struct || keys == nil {
		return
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		v, ok := keys[key]
		if !ok {
			t.Errorf("docs/gateway.md lacks %s.%s", at, key)
			continue
		}
		haveKeys(t, at+"."+key, f.Type, v)
	}
}
