package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

type plan struct {
	Name    string            `yaml:"name"`
	URLs    []string          `yaml:"urls"`
	Rate    float64           `yaml:"rate"`
	Count   int               `yaml:"count"`
	Size    uint8             `yaml:"size"`
	On      bool              `yaml:"on"`
	Timeout time.Duration     `yaml:"timeout"`
	Labels  map[string]string `yaml:"labels"`
	Stage   *stage            `yaml:"stage"`
	Stages  []stage           `yaml:"stages"`
	Body    any               `yaml:"body"`
	Color   color             `yaml:"color"`
	Short   shortForm         `yaml:"short"`
	common  `yaml:",inline"`
	Hidden  string `yaml:"-"`
	private int    //nolint:unused // shows that an unexported field is no key
}

type common struct {
	Seed int64 `yaml:"seed"`
}

type stage struct {
	For time.Duration `yaml:"for"`
	To  int           `yaml:"to"`
}

// Validate refuses a stage that goes nowhere.
func (s *stage) Validate() error {
	if s.To == 13 {
		return errors.New("to is 13: choose another")
	}
	return nil
}

type color string

func (c *color) UnmarshalText(b []byte) error {
	if s := string(b); s != "red" && s != "blue" {
		return fmt.Errorf("no color is called %q; there are red and blue", s)
	}
	*c = color(b)
	return nil
}

// shortForm may be written as a word or as a mapping.
type shortForm struct{ Kind, Path string }

func (s *shortForm) UnmarshalConfig(n Node) error {
	if n.IsScalar() {
		return n.Decode(&s.Kind)
	}
	var long struct {
		Kind string `yaml:"kind"`
		Path string `yaml:"path"`
	}
	if err := n.Decode(&long); err != nil {
		return err
	}
	if long.Kind == "bad" {
		return n.Errorf("kind %s is not known", long.Kind)
	}
	s.Kind, s.Path = long.Kind, long.Path
	return nil
}

func TestDecode(t *testing.T) {
	t.Setenv("WEIR_TEST_PORT", "8080")
	t.Setenv("WEIR_TEST_SECRET", "hunter2")
	t.Setenv("WEIR_TEST_EMPTY", "")
	for _, c := range []struct {
		yaml string
		want plan
	}{
		{"{urls: [http://a:1]}", plan{URLs: []string{"http://a:1"}}},
		{"{urls: [http://a:1, http://b:2/x?y=1], name: n}", plan{URLs: []string{"http://a:1", "http://b:2/x?y=1"}, Name: "n"}},
		{"", plan{}},
		{"# only a comment\n", plan{}},
		{"timeout: 200ms\nrate: 2.5\ncount: -3\nsize: 255\non: true\n", plan{Timeout: 200 * time.Millisecond, Rate: 2.5, Count: -3, Size: 255, On: true}},
		{"timeout: 0\nname: 5\n", plan{Name: "5"}},
		{"count: ${WEIR_TEST_PORT}\nname: key ${WEIR_TEST_SECRET}!\n", plan{Count: 8080, Name: "key hunter2!"}},
		{"name: \"$${WEIR_TEST_SECRET} costs $5${WEIR_TEST_EMPTY}\"", plan{Name: "${WEIR_TEST_SECRET} costs $5"}},
		{"labels: {a: x, b: \"1\"}\nseed: 7", plan{Labels: map[string]string{"a": "x", "b": "1"}, common: common{7}}},
		{"stages:\n- {for: 1s, to: 5}\n- to: 6\n", plan{Stages: []stage{{time.Second, 5}, {0, 6}}}},
		{"stage: {to: 1}\nlabels:\nurls: ~\nstages: []", plan{Stage: &stage{0, 1}, Stages: []stage{}}},
		{"stage: null", plan{}},
		{"body: {a: [1, 2.5, true, x, null, \"1\"], b: {c: yes}}", plan{Body: map[string]any{"a": []any{int64(1), 2.5, true, "x", nil, "1"}, "b": map[string]any{"c": "yes"}}}},
		{"body: &b {to: 2, for: 1s}\nstage: {<<: *b, to: 3}", plan{Body: map[string]any{"to": int64(2), "for": "1s"}, Stage: &stage{time.Second, 3}}},
		{"color: blue\nshort: text\n", plan{Color: "blue", Short: shortForm{Kind: "text"}}},
		{"short: {kind: text, path: a.b}", plan{Short: shortForm{"text", "a.b"}}},
	} {
		var got plan
		if err := Decode("plan.yaml", []byte(c.yaml), &got); err != nil {
			t.Errorf("%s: %v", c.yaml, err)
		} else if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.yaml, got, c.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Setenv("WEIR_TEST_SECRET", "hunter2")
	for _, c := range []struct{ yaml, want string }{
		{"name: a\nnmae: b", `plan.yaml:2:1: unknown key "nmae"; allowed: name, urls, rate, count, size, on, timeout, labels, stage, stages, body, color, short, seed`},
		{"stages:\n- to: 1\n- {form: 1s}", `plan.yaml:3:4: unknown key "form" in stages[1]; allowed: for, to`},
		{"private: 1", `plan.yaml:1:1: unknown key "private"`},
		{"hidden: x", `plan.yaml:1:1: unknown key "hidden"`},
		{"a: 1\na: 2", `plan.yaml:2:1: key "a" is given twice, first in line 1`},
		{"timeout: 200", `plan.yaml:1:10: timeout: "200" is no good; it takes a duration with its unit, such as 200ms, 1.5s or 5m`},
		{"on: yes", `plan.yaml:1:5: on: "yes" is no good; it takes true or false`},
		{"count: 1.5", `plan.yaml:1:8: count: "1.5" is no good; it takes a whole number`},
		{"size: 256", `size: "256" is no good; it takes a whole number, not negative`},
		{"rate: .nan", `rate: ".nan" is no good; it takes a number`},
		{"name:\ncount: 1", `plan.yaml:1:6: name is empty; it takes a text`},
		{"name: [a]", `plan.yaml:1:7: name is a list; it takes a text`},
		{"urls: http://a:1", `plan.yaml:1:7: urls is the value "http://a:1", not a list: write it as [ … ]`},
		{"labels: [a]", `labels is a list, not a mapping of names to values`},
		{"stage: 5", `plan.yaml:1:8: stage is the value "5", not a mapping; it takes the keys for, to`},
		{"- a", `plan.yaml:1:1: the document is a list, not a mapping; it takes the keys name`},
		{"name: ${WEIR_TEST_UNSET}", `plan.yaml:1:7: name: the environment variable WEIR_TEST_UNSET is not set`},
		{"body: {x: [\"${WEIR_TEST_UNSET}\"]}", `plan.yaml:1:12: body.x[0]: the environment variable WEIR_TEST_UNSET is not set`},
		{"name: ${}", `${ begins the name of an environment variable`},
		{"name: ${a", `${ begins the name of an environment variable`},
		{"color: green", `plan.yaml:1:8: color: no color is called "green"; there are red and blue`},
		{"short: {kind: bad}", `plan.yaml:1:8: short: kind bad is not known`},
		{"short: {knd: x}", `plan.yaml:1:9: unknown key "knd" in short; allowed: kind, path`},
		{"stage: {to: 13}", `plan.yaml:1:8: stage: to is 13: choose another`},
		{"name: a\n---\nname: b\n", `plan.yaml:2:1: a second document begins here`},
		{"a: [1\nb: 2", `not YAML: did not find expected ',' or ']' (while parsing a flow sequence)`},
		{"\tname: x", `plan.yaml:1:1: not YAML: found character that cannot start any token`},
		{"name: *nope", `plan.yaml:1:7: not YAML: unknown anchor 'nope' referenced`},
		{"name: a\x01", `plan.yaml: not YAML: control characters are not allowed`},
		{"{[a]: 1}", `a key is a list or a mapping`},
	} {
		var got plan
		err := Decode("plan.yaml", []byte(c.yaml), &got)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.yaml, err, c.want)
		}
	}
}

func TestDecodeKeepsSecrets(t *testing.T) {
	t.Setenv("WEIR_TEST_SECRET", "hunter2")
	for _, y := range []string{"count: ${WEIR_TEST_SECRET}", "color: ${WEIR_TEST_SECRET}", "timeout: ${WEIR_TEST_SECRET}"} {
		var got plan
		err := Decode("plan.yaml", []byte(y), &got)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "WEIR_TEST_SECRET") {
			t.Errorf("%s: error is %v", y, err)
		}
	}
}

func TestDecodeTellsEveryMistake(t *testing.T) {
	var got plan
	err := Decode("plan.yaml", []byte("nmae: a\ncount: x\non: maybe"), &got)
	for _, want := range []string{"plan.yaml:1:1", "plan.yaml:2:8", "plan.yaml:3:5"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in: %v", want, err)
		}
	}
}

// TestDecodeIsBounded feeds a document whose aliases unfold to 10^9 values.
func TestDecodeIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	var got any
	if err := Decode("bomb.yaml", []byte(b.String()), &got); err == nil {
		t.Error("a billion values were taken")
	}
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	if err := Decode("deep.yaml", []byte(deep), &got); err == nil {
		t.Error("200 levels were taken")
	}
}

func TestDecodeWantsAPointer(t *testing.T) {
	if err := Decode("plan.yaml", nil, plan{}); err == nil {
		t.Error("a struct value was taken")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"name: a", "stages: [{for: 1s}]", "body: {a: &x [1], b: *x, <<: {c: 1}}", "short: {kind: b}", "? [a]\n: b", "a: ${X}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p plan
		if err := Decode("f.yaml", b, &p); err != nil && !strings.HasPrefix(err.Error(), "f.yaml") {
			t.Errorf("the error names no place: %v", err)
		}
	})
}
