package dialect

import (
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"weir/stream"
	"weir/wire"
)

func TestLoadRefuses(t *testing.T) {
	const head = "name: d\nevents: {a: {text: t}}\n"
	for _, c := range []struct{ yaml, want string }{
		{"", "d.yaml: name is missing"},
		{"name: d", "events is missing"},
		{"name: a b\nevents: {a: done}", `name "a b": use letters`},
		{head + "evnts: 1", `d.yaml:3:1: unknown key "evnts"; allowed: name, request, detect, data, name_at, fields, events`},
		{"name: d\nevents:\n  a: text!", `d.yaml:3:6: events.a: no kind of event is called "text!"; there are other, text, reasoning`},
		{"name: d\nevents:\n  a: {txt: x}", `d.yaml:3:7: unknown key "txt" in events.a; allowed: when, kind, text`},
		{"name: d\nevents:\n  a: {cumulative: true}", `d.yaml:3:6: events.a: it says nothing of the event`},
		{"name: d\nevents:\n  a: {text: t, code: c}", "code, message and recoverable belong to kind error"},
		{"name: d\nevents:\n  a: [{text: t}, {txt: t}]", `d.yaml:3:19: unknown key "txt" in events.a[1]`},
		{"name: d\nevents:\n  a: {text: a..b}", `events.a.text: the path "a..b" has an empty key`},
		{"name: d\nevents:\n  a: {text: \"a[x]\"}", `has a bad index`},
		{"name: d\nevents:\n  a: {text: \"a[0\"}", `has a bad index`},
		{"name: d\nevents:\n  a: {text: t, when: {\"a[-1]\": 1}}", `has a bad index`},
		{head + "data: xml", `"xml" is no form of data`},
		{head + "request: {path: x}", `path "x" does not begin with /`},
		{head + "request: {key: \"a b: c\"}", "key names no header"},
		{head + "request:\n  body: {a: [\"{promt}\"]}", "d.yaml:4:3: request: body: no placeholder is called {promt}; there are {model}, {prompt}"},
		{head + "request: {path: \"/{messages}\"}", "{messages} is a list"},
		{head + "request: {path: \"/a{\"}", "has a { without }"},
		{head + "request: {headers: {a: \"${WEIR_UNSET_VARIABLE}\"}}", "the environment variable WEIR_UNSET_VARIABLE is not set"},
	} {
		_, err := Load("d.yaml", []byte(c.yaml))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.yaml, err, c.want)
		}
	}
}

func TestCustomRequest(t *testing.T) {
	t.Setenv("WEIR_TEST_TENANT", "acme")
	const y = `
name: d
events: {a: done}
request:
  method: get
  path: /v2/{model}/ask
  query: {q: "{prompt}", mode: "{stream|live|once}"}
  headers: {X-Tenant: "${WEIR_TEST_TENANT}", Accept: text/plain}
  key: X-Key
`
	d, err := Load("d.yaml", []byte(y))
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Request(Ask{URL: "http://h/?mode=x", Model: "m", Prompt: "a b", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Method != http.MethodGet || r.URL.String() != "http://h/v2/m/ask?mode=x&q=a+b" || r.Body != nil {
		t.Errorf("request is %s %s %v", r.Method, r.URL, r.Body)
	}
	if h := r.Header; h.Get("X-Tenant") != "acme" || h.Get("X-Key") != "k" || h.Get("Accept") != "text/plain" || h.Get("Content-Type") != "" {
		t.Errorf("headers are %v", h)
	}
}

func TestCustomBody(t *testing.T) {
	const y = `
name: d
events: {a: done}
request:
  path: /ask
  body: {m: "{messages}", s: "{system}", n: "{max_tokens}", live: "{stream}", mode: "{stream|streaming|blocking}", text: "{{x} {prompt}!", deep: [{a: 1.5, b: null}]}
`
	d, err := Load("d.yaml", []byte(y))
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Request(Ask{URL: "http://h/v1", Messages: []Message{{"system", "S"}, {"user", "U"}}, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	want := `http://h/ask {"deep":[{"a":1.5,"b":null}],"live":false,"m":[{"role":"system","content":"S"},{"role":"user","content":"U"}],"mode":"blocking","n":200,"s":"S","text":"{x} U!"}`
	if got := sent(t, r); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestCustomDocs runs the example of docs/custom-dialect.md: its dialect, its
// stream and what the page says comes out.
func TestCustomDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/custom-dialect.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```(\\w+) example\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		blocks[m[1]] = m[2]
	}
	d, err := Load("example.yaml", []byte(blocks["yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	if got := transcript(t, d, "sse", []byte(blocks["sse"])); got != blocks["events"] {
		t.Errorf("the page's stream gives\n%s\nthe page says\n%s", got, blocks["events"])
	}
	for _, key := range specKeys() {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("the page does not explain the key %s", key)
		}
	}
}

// TestArticleIsUnlikeItsCopies makes sure that a classifier keeps its state to
// itself: the dialect's rules are shared by all.
func TestArticleIsUnlikeItsCopies(t *testing.T) {
	d := article()
	a, b := d.NewClassifier(), d.NewClassifier()
	f := wire.Frame{Kind: wire.Event, Event: []byte("done"), Data: []byte("{}")}
	if err := a.Classify(f, func(*stream.Event) {}); err != nil {
		t.Fatal(err)
	}
	if a.Ended().Proof != stream.ProofTerminal || b.Ended().Proof != stream.ProofNone {
		t.Errorf("proofs are %v and %v", a.Ended().Proof, b.Ended().Proof)
	}
}

// specKeys lists every key a custom dialect's file can have.
func specKeys() []string {
	var keys []string
	for _, x := range []any{spec{}, requestSpec{}, detectSpec{}, fieldSpec{}, usageSpec{}, rule{}} {
		for f := range reflect.TypeOf(x).Fields() {
			if key := f.Tag.Get("yaml"); key != "" {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
