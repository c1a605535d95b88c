package gateway

import (
	"bytes"
	"os"
	"strings"
	"testing"
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
