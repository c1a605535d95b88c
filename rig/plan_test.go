package rig

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const goodPlan = `target: {url: "http://127.0.0.1:9000/custom/chat", dialect: article}
labels: {model: mock, quant: none}
load:
  - {name: peak, arrivals: poisson, rate: 20/s, duration: 30s, warmup: 5s, max_in_flight: 500, on_full: drop}
scenarios:
  - name: plain_qa
    weight: 6
    request: {prompt: "退款需要补什么材料？", max_tokens: 200}
    marks: {useful: "state.decision != nil && state.reason != nil && state.next_step != nil"}
    gates: {ttft: [p95 < 2s], useful: [p95 < 2.5s]}
    rules:
      - {name: tell the user of a tool timeout, when: tool_timeout, then: handoff, within: 1s}
      - {name: never promise before checking, never: decision, before: verified}
gates: {complete: [share >= 99%], dropped: [share <= 0.1%]}
`

func TestPlanOfTheDocument(t *testing.T) {
	p, err := ParsePlan("plan.yaml", []byte(goodPlan))
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Config()
	if err != nil || len(c.Phases) != 1 || c.Phases[0].Rate != 20 || c.Scenarios[0].Weight != 6 || c.Dialect.Name() != "article" {
		t.Errorf("%+v %v", c, err)
	}
	if s := p.Scenarios[0]; len(s.Rules) != 2 || len(s.Gates["useful"]) != 1 || len(p.Gates) != 2 {
		t.Errorf("%+v %+v", s, p.Gates)
	}
}

// Every class of mistake names file, line and column, and what is allowed.
func TestBadPlans(t *testing.T) {
	for _, c := range []struct{ name, old, new, place, want string }{
		{"nothing", goodPlan, "", "1:1", "target is missing: write target"},
		{"no YAML", "labels: {", "labels: {{", "3:1", "not YAML"},
		{"unknown key", "labels:", "label:", "2:1", `unknown key "label"; allowed: target, labels, load,`},
		{"unknown key inside", "weight:", "wieght:", "7:5", `unknown key "wieght" in scenarios[0]; allowed: name, weight,`},
		{"key given twice", "    weight: 6", "    name: again", "7:5", "given twice, first in line 6"},
		{"wrong kind", "weight: 6", "weight: [6]", "7:13", "a list; it takes a whole number"},
		{"not a number", "weight: 6", "weight: six", "7:13", `"six" is no good; it takes a whole number`},
		{"rate without unit", "rate: 20/s", "rate: 20", "4:43", `"20" is no rate: it takes a rate with its unit, such as 20/s`},
		{"duration without unit", "duration: 30s", "duration: 30", "4:59", "a duration with its unit"},
		{"unknown arrivals", "poisson", "posson", "4:5", `arrivals "posson" is not known; allowed: constant, poisson`},
		{"unknown policy", "on_full: drop", "on_full: wait", "4:5", "allowed: drop, queue"},
		{"no rate", "rate: 20/s, ", "", "4:5", "rate is missing"},
		{"no load", "  - {name: peak, arrivals: poisson, rate: 20/s, duration: 30s, warmup: 5s, max_in_flight: 500, on_full: drop}\n", "", "1:1", "load is missing"},
		{"two phases of one name", "load:\n", "load:\n  - {name: peak, rate: 1/s, duration: 1s}\n", "4:3", `two phases are called "peak"`},
		{"bad URL", "http://127", "htp://127", "1:9", "neither http nor https"},
		{"unknown dialect", "dialect: article", "dialect: articel", "1:9", "articel"},
		{"dialect file", "dialect: article", "dialect: nosuch.yaml", "", "target.dialect: open nosuch.yaml"},
		{"bad mark", "state.decision != nil", "stat.decision != nil", "9:12", `mark "useful": line 1, column 1: unknown name stat`},
		{"unknown metric", "ttft: [p95", "tftt: [p95", "10:", `nothing called "tftt"`},
		{"unknown stat", "[p95 < 2s]", "[p94 < 2s]", "10:", `stat "p94"`},
		{"no comparison", "[p95 < 2s]", "[p95 2s]", "10:", "compares nothing; write STAT OP VALUE"},
		{"limit without unit", "[p95 < 2s]", "[p95 < 2]", "10:", "a time without its unit; write 2ms or 2s"},
		{"limit in a wrong unit", "[share >= 99%]", "[share >= 99s]", "14:", "it is a part of 1"},
		{"gate of a mark there is not", "useful: [p95", "usefull: [p95", "10:", "usefull"},
		{"gate for a phase there is not", "[p95 < 2s]", "[{limit: p95 < 2s, phase: peek}]", "10:", "there are peak"},
		{"rule of no form", "when: tool_timeout, then: handoff, within: 1s", "when: tool_timeout", "12:", "it has no then"},
		{"rules of one name", "never promise before checking", "tell the user of a tool timeout", "", "two are called"},
		{"two prompts", "max_tokens: 200", "body: x", "8:14", "prompt and body are given"},
		{"bad share", "    weight: 6", "    cancel_after: {tokens: 3, share: 30}", "7:19", "a part from 0 to 1"},
		{"unset variable", "article}", "article, model: \"${WEIR_NO_SUCH_VAR}\"}", "1:", "WEIR_NO_SUCH_VAR is not set"},
		{"unset key", "article}", "article, api_key_env: WEIR_NO_SUCH_VAR}", "", "WEIR_NO_SUCH_VAR is not set"},
		{"missing prompts", `prompt: "退款需要补什么材料？"`, "prompts: {file: nosuch.txt}", "", "scenario plain_qa: request: prompts: open nosuch.txt"},
		{"health limits", "labels:", "health_limits: {lateness: 3}\nlabels:", "2:16", `"lateness" is not known; there are lag_over_ms`},
		{"negative price", "labels:", "prices: {input: -3}\nlabels:", "2:", "not negative"},
		{"cache", "labels:", "cache: hot\nlabels:", "2:8", "allowed: warm, cold"},
	} {
		text := strings.Replace(goodPlan, c.old, c.new, 1)
		if text == goodPlan {
			t.Errorf("%s: the plan was not changed", c.name)
			continue
		}
		_, err := ParsePlan("plan.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		place := "plan.yaml:" + c.place
		if c.place == "" {
			place = "plan.yaml: "
		}
		if !strings.HasPrefix(err.Error(), place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s … %s", c.name, err, place, c.want)
		}
	}
}

// The plan that is kept holds no credential.
func TestPlanIsKeptWithoutSecrets(t *testing.T) {
	t.Setenv("WEIR_TEST_KEY", "sk-from-environment")
	text := strings.Replace(goodPlan, `{url: "http://127.0.0.1:9000/custom/chat", dialect: article}`,
		`{url: "http://me:hunter2hunter2@127.0.0.1:9000/custom/chat", dialect: article, api_key_env: WEIR_TEST_KEY, header: {Authorization: "Bearer literal-secret", X-Api-Key: "${WEIR_TEST_KEY}"}}`, 1)
	p, err := ParsePlan("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "literal-secret", "sk-from-environment"} {
		if strings.Contains(p.Text(), secret) {
			t.Errorf("the plan holds %s", secret)
		}
	}
	if !strings.Contains(p.Text(), "${WEIR_TEST_KEY}") || !strings.Contains(p.Text(), "plain_qa") {
		t.Error("the rest is gone")
	}
	if c, _ := p.Config(); c.APIKey != "sk-from-environment" || c.Header.Get("X-Api-Key") != "sk-from-environment" {
		t.Error("the key is not used")
	}
}

// What is decoded and what is documented are the same keys.
func TestEveryKeyIsDocumented(t *testing.T) {
	decoded := planPaths(reflect.TypeFor[LoadPlan](), "")
	var documented []string
	for _, k := range allPlanKeys() {
		documented = append(documented, k.Path)
		if k.Doc == "" || k.Form == "" {
			t.Errorf("%s says nothing", k.Path)
		}
		if !slices.Contains(decoded, k.Path) {
			t.Errorf("%s is documented and not decoded", k.Path)
		}
	}
	for _, path := range decoded {
		if !slices.Contains(documented, path) {
			t.Errorf("%s is decoded and not documented", path)
		}
	}
	for i, line := range strings.Split(PlanHelp(), "\n") {
		if len([]rune(line)) > 100 && strings.Contains(strings.TrimSpace(line), " ") && !strings.Contains(line, "|") {
			t.Errorf("help line %d has %d columns", i+1, len([]rune(line)))
		}
	}
}

// docs/plan.schema.json is the schema; -rewrite writes it.
func TestPlanSchema(t *testing.T) {
	got, err := PlanSchema()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../docs/plan.schema.json"
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not the schema of plans (%v): run go test ./rig -run TestPlanSchema -rewrite", file, err)
	}
	if !json.Valid(got) {
		t.Error("the schema is no JSON")
	}
}
