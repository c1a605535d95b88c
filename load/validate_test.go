package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/config"
)

func TestBadPhases(t *testing.T) {
	for yaml, want := range map[string]string{
		"{arrivals: random, rate: 1/s, duration: 1s}": `arrivals "random" is not known; allowed: constant, poisson, gamma, ramp, steps, spike, trace, closed, single`,
		"{rate: 5, duration: 1s}":                     `"5" is no rate: it takes a rate with its unit, such as 20/s`,
		"{rate: -5/s, duration: 1s}":                  "is no rate",
		"{rate: 9e9/s, duration: 1s}":                 "above the most",
		"{duration: 1s}":                              "rate is missing",
		"{rate: 5/s}":                                 "duration is missing",
		"{rate: 5/s, duration: -1s}":                  "negative",
		"{rate: 5/s, duration: 999h}":                 "at most 168h",
		"{arrivals: gamma, rate: 5/s, duration: 1s}":  "cv 0: give one from 0.01 to 20",
		"{rate: 5/s, cv: 2, duration: 1s}":            "arrivals poisson takes no cv; it is for gamma",
		"{arrivals: ramp, rate: 5/s, duration: 1s}":   "arrivals ramp takes no rate",
		"{arrivals: ramp, duration: 1s}":              "a ramp needs from and to",
		"{arrivals: steps, duration: 1s}":             "steps needs a list of rates",
		"{arrivals: spike, rate: 1/s, duration: 9s}":  "a spike needs when and how long",
		"{arrivals: spike, rate: 1/s, spike: {rate: 9/s, at: 8s, for: 5s}, duration: 9s}": "the spike ends after 13s, the phase after 9s",
		"{arrivals: trace}":                                                  "a trace needs a file",
		"{arrivals: trace, file: x, timestamps: h}":                          "numbers in a trace are s or ms",
		"{arrivals: closed, duration: 1s}":                                   "concurrency 0",
		"{arrivals: closed, concurrency: 2, max_in_flight: 2, duration: 1s}": "takes no max_in_flight",
		"{rate: 5/s, duration: 1s, on_full: wait}":                           `on_full "wait" is not known; allowed: drop, queue`,
		"{rate: 5/s, duration: 1s, on_full: queue}":                          "queue needs max_in_flight",
		"{rate: 5/s, duration: 1s, max_in_flight: -1}":                       "max_in_flight is negative",
		"{rate: 5/s, durations: 1s}":                                         `unknown key "durations"`,
		"{rate: 5/s, duration: 10}":                                          "a duration with its unit",
	} {
		var p Phase
		err := config.Decode("plan.yaml", []byte(yaml), &p)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "plan.yaml:1:") {
			t.Errorf("%s: %v, want …%s…", yaml, err, want)
		}
	}
}

func TestBadScenarios(t *testing.T) {
	for yaml, want := range map[string]string{
		"{request: {prompt: x}}":                                          `name "": a letter or _ first`,
		"{name: a b}":                                                     `name "a b"`,
		"{name: a, weight: -1}":                                           "weight -1 is negative",
		"{name: a, request: {prompt: x, body: y}}":                        "prompt and body are given; one of them is asked",
		"{name: a, request: {max_tokens: -2}}":                            "max_tokens -2",
		"{name: a, request: {prompts: {order: cycle}}}":                   "prompts needs a file",
		"{name: a, request: {prompts: {file: x, order: random}}}":         "allowed: cycle, sample",
		"{name: a, request: {vars: {x: y}}}":                              "vars are for a template",
		"{name: a, request: {template: '{{.nosuch}}', vars: {order: y}}}": "the vars order",
		"{name: a, request: {template: '{{', vars: {order: y}}}":          "unclosed action",
		"{name: a, request: {template: 'x', vars: {Index: y}}}":           "a name of weir's own",
		"{name: a, request: {header: {'a b': y}}}":                        `header "a b"`,
		"{name: a, cancel_after: {share: 0.5}}":                           "give tokens or time",
		"{name: a, cancel_after: {tokens: 1, time: 1s}}":                  "not both",
		"{name: a, cancel_after: {tokens: 1, share: 30}}":                 "a part from 0 to 1",
		"{name: a, marks: {useful: 'stat.x != nil'}}":                     `mark "useful": line 1, column 1: unknown name stat`,
		"{name: a, expect: {events: -1}}":                                 "must not be negative",
	} {
		var s Scenario
		err := config.Decode("plan.yaml", []byte(yaml), &s)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "plan.yaml:1:") {
			t.Errorf("%s: %v, want …%s…", yaml, err, want)
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTraces(t *testing.T) {
	for name, text := range map[string]string{
		"a.jsonl": `{"timestamp": 2000, "input_length": 5, "output_length": 7, "hash_ids": [1]}` + "\n" + `{"timestamp": 500, "input_length": 3, "output_length": 4}` + "\n\n",
		"b.csv":   "Timestamp,Model,Request tokens,Response tokens\n10.5,x,3,4\n12,y,5,7\n",
		"c.csv":   "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.5,3,4\n2023-11-16 18:15:48.0,5,7\n",
	} {
		p := Phase{Name: "t", Arrivals: KindTrace, File: name}
		if err := p.Load(write(t, name, text)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := []traced{{0, 3, 4}, {1500 * time.Millisecond, 5, 7}}
		if len(p.trace) != 2 || p.trace[0] != want[0] || p.trace[1] != want[1] {
			t.Errorf("%s: %+v", name, p.trace)
		}
		if at := times(t, p, 1, Shard{}); len(at) != 2 || at[1] != 1.5 {
			t.Errorf("%s: due at %v", name, at)
		}
	}
}

func TestBadTraces(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "not a CSV file",
		"a,b\n1,2\n":                           "x:1: the first line names no column of times",
		"timestamp\nnoon\n":                    `x:2:1: the time "noon" is neither`,
		"timestamp,input_length\n1,-3\n":       `x:2:1: input length "-3"`,
		`{"timestamp": 1` + "\n":               "x:1: not a JSON object",
		`{"when": 1}` + "\n":                   `x:1: the time ""`,
		"timestamp\n1\n1e300\n":                "numbers are taken as s",
		"timestamp\nInf\n1\n":                  "numbers are taken as s",
		"timestamp\n1\n2023-11-16T18:15:46Z\n": "some times are numbers",
		"timestamp\n":                          "holds no line",
	} {
		p := Phase{Arrivals: KindTrace, File: "x"}
		if err := p.Load(write(t, "x", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want …%s…", text, err, want)
		}
	}
}

func TestPromptFiles(t *testing.T) {
	sharegpt := `[{"id":"1","conversations":[{"from":"system","value":"be brief"},{"from":"human","value":"one"},{"from":"gpt","value":"x"}]},
		{"id":"2","conversations":[{"from":"human","value":"two"}]}]`
	for _, c := range []struct{ file, field, text, want string }{
		{"p.txt", "", "one\n\n two \n", "one|two"},
		{"p.jsonl", "", `"one"` + "\n" + `{"prompt":"two"}` + "\n", "one|two"},
		{"p.jsonl", "ask", `{"ask":"one","prompt":"no"}` + "\n" + `{"ask":[{"role":"user","content":"two"}]}`, "one|user:two"},
		{"p.json", "", sharegpt, "system:be brief user:one|user:two"},
		{"p.csv", "", "id,prompt\n1,one\n2,\"two, too\"\n", "one|two, too"},
		{"p.csv", "Ask", "id,ask\n1,one\n", "one"},
	} {
		list, err := PromptFile{File: c.file, Field: c.field}.read(write(t, c.file, c.text))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		var got []string
		for _, p := range list {
			s := p.text
			for _, m := range p.turns {
				s = strings.TrimSpace(s + " " + m.Role + ":" + m.Content)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: %s, want %s", c.file, s, c.want)
		}
	}
	for _, c := range []struct{ file, text, want string }{
		{"p.txt", "\n\n", "holds no prompt"},
		{"p.jsonl", "{\"prompt\":\"x\"}\n{\"a\":1}\n", "p.jsonl:2: no member prompt"},
		{"p.jsonl", "{\n", "p.jsonl:1: neither a text nor an object"},
		{"p.jsonl", `{"messages":[{"role":"assistant","content":"x"}]}`, "does not end with the user's turn"},
		{"p.json", "{}", "not a JSON list"},
		{"p.csv", "a,b\n1,2\n", "p.csv:1: no column prompt"},
	} {
		if _, err := (PromptFile{File: c.file}).read(write(t, c.file, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want …%s…", c.file, c.text, err, c.want)
		}
	}
}
