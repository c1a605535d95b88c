package dialect

import (
	"os"
	"strings"
	"testing"
)

// TestAddADialect keeps docs/add-a-dialect.md true: the dialect it shows is the
// one in acme_test.go, and reads its stream as the page says.
func TestAddADialect(t *testing.T) {
	page, err := os.ReadFile("../docs/add-a-dialect.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("acme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if got := fenced(string(page), "go"); got != string(code) {
		t.Errorf("the page shows\n%s\nacme_test.go is\n%s", got, code)
	}
	if got := transcript(t, acme{}, "sse", []byte(fenced(string(page), "sse"))); got != fenced(string(page), "events") {
		t.Errorf("the page's stream gives\n%s", got)
	}
	if why := (acme{}).reason(Hint{Path: "/v1/assist"}); why != "path /v1/assist" {
		t.Errorf("matched because %q", why)
	}
	r, err := acme{}.Request(Ask{URL: "http://h", Prompt: "Hi", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sent(t, r), `http://h/v1/assist Authorization=Bearer k {"limit":200,"question":"Hi","stream":true}`; got != want {
		t.Errorf("request is %s", got)
	}
}

// fenced is the content of the first block fenced with the language.
func fenced(page, language string) string {
	_, rest, _ := strings.Cut(page, "```"+language+"\n")
	block, _, _ := strings.Cut(rest, "```\n")
	return block
}
