package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/judge"
)

func written(t *testing.T, name string, r Run) []byte {
	t.Helper()
	f, err := LookupRun(name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLookupRun(t *testing.T) {
	_, err := LookupRun("pdf")
	if err == nil || !strings.Contains(err.Error(), "text, json, csv, junit, markdown, benchfmt, html") {
		t.Error(err)
	}
	if _, err := LookupComparison("csv"); err == nil || !strings.Contains(err.Error(), "text, json, markdown") {
		t.Error(err)
	}
}

// TestRunJSONContract holds the keys that programs rely on.
func TestRunJSONContract(t *testing.T) {
	var got struct {
		Verdict string
		Gates   []map[string]any
		Rules   []map[string]any
		Health  struct {
			Verdict string
			Reasons []string
		}
		Scenarios []struct {
			Name, Phase string
			Single      bool
			Metrics     []map[string]any
		}
		Outcomes  map[string]struct{ N, Of int }
		Inflation []map[string]any
	}
	raw := written(t, "json", mixedRun())
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if bytes.Count(raw, []byte("\n")) != 1 {
		t.Error("not one line")
	}
	if got.Verdict != "fail" || got.Health.Verdict != "suspect" || len(got.Health.Reasons) != 1 {
		t.Errorf("verdict %q, health %+v", got.Verdict, got.Health)
	}
	has(t, got.Gates[0], "scenario", "metric", "stat", "op", "limit", "actual", "interval", "unit", "n", "verdict")
	has(t, got.Rules[0], "name", "violations", "request_ids")
	if len(got.Scenarios) != 4 || got.Scenarios[0].Name != "plain_qa" || !got.Scenarios[0].Single || got.Scenarios[2].Single {
		t.Fatalf("scenarios %+v", got.Scenarios)
	}
	for i, from := range map[int]string{0: "sent", 2: "scheduled"} {
		m := got.Scenarios[i].Metrics[0]
		has(t, m, "metric", "unit", "from", "n", "reached", "p50", "p50_is", "p95", "p95_is")
		if m["metric"] != "ttft" || m["from"] != from || m["unit"] != "ms" {
			t.Errorf("scenario %d: %v, want ttft from %s", i, m, from)
		}
	}
	if o := got.Outcomes["complete"]; o.N < 700 || o.Of != o.N+got.Outcomes["dropped"].N+got.Outcomes["reset"].N+got.Outcomes["truncated"].N+got.Outcomes["error_early"].N {
		t.Errorf("outcomes %+v", got.Outcomes)
	}
	if len(got.Inflation) == 0 || got.Inflation[0]["factor"].(float64) < 1.5 {
		t.Errorf("inflation %v", got.Inflation)
	}
}

func has(t *testing.T, m map[string]any, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if _, ok := m[k]; !ok {
			t.Errorf("no key %q in %v", k, m)
		}
	}
}

func TestWarmupIsLeftOut(t *testing.T) {
	r := mixedRun()
	all := len(r.rows())
	for i := range 50 {
		r.Rows[i].Warmup = true
	}
	if got := len(r.rows()); got != all-50 {
		t.Errorf("%d rows, want %d", got, all-50)
	}
	if !strings.Contains(string(written(t, "text", r)), "(50 of warm-up or not the service's left out)") {
		t.Error("the text does not say what was left out")
	}
	if got := bytes.Count(written(t, "csv", r), []byte("\n")); got != len(r.Rows)+1 {
		t.Errorf("%d lines of CSV, want every row and a head", got)
	}
}

// TestCSVRunsNothing: no cell may be taken for a formula.
func TestCSVRunsNothing(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(written(t, "csv", hostileRun()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if len(row) != len(rows[0]) {
			t.Fatalf("%d cells under %d heads", len(row), len(rows[0]))
		}
		for i, c := range row {
			if c = strings.TrimSpace(c); c != "" && strings.ContainsAny(c[:1], "=+-@|\t\r") && !isNumber(c) {
				t.Errorf("%s: %q", rows[0][i], c)
			}
		}
	}
	for in, want := range map[string]string{"": "", " ": " ", "-1.5": "-1.5", "-x": "'-x", " =1": "' =1", "@SUM(A1)": "'@SUM(A1)", "ok": "ok", "\t=1": "' =1"} {
		if got := csvText(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestJUnit(t *testing.T) {
	for name, r := range runs() {
		var got junitSuites
		raw := written(t, "junit", r)
		if err := xml.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if bytes.ContainsFunc(raw, func(c rune) bool { return c < ' ' && c != '\n' }) {
			t.Errorf("%s: a control character got through", name)
		}
		cases := got.Suites[0].Cases
		if len(cases) != 1+len(r.Judged.Gates)+len(r.Judged.Rules) || got.Tests != len(cases) {
			t.Errorf("%s: %d cases of %d", name, len(cases), got.Tests)
		}
		failures := 0
		for i, c := range cases {
			if c.Failure == nil {
				continue
			}
			failures++
			if i <= len(r.Judged.Gates) && !regexp.MustCompile(`actual .*, limit .*, n \d+`).MatchString(c.Failure.Text) {
				t.Errorf("%s: no figures in the failure %q", name, c.Failure.Text)
			}
		}
		if failures != got.Failures {
			t.Errorf("%s: %d failures, the suite says %d", name, failures, got.Failures)
		}
	}
	r := mixedRun()
	r.Health.Verdict, r.Judged.Verdict = "invalid", judge.Invalid
	if raw := written(t, "junit", r); !bytes.Contains(raw, []byte(`errors="1"`)) || !bytes.Contains(raw, []byte("<error ")) {
		t.Error("an unfit instrument is no error")
	}
}

// TestMarkdownIsPlain: foreign names are text, and break no table.
func TestMarkdownIsPlain(t *testing.T) {
	text := string(written(t, "markdown", hostileRun()))
	for _, bad := range []string{"<img", "</script", "@all", "[x](", "http://", "\x1b", "\u202e"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q stands in the text", bad)
		}
	}
	cells := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells > 0 && n != cells {
			t.Errorf("%d bars under %d: %s", n, cells, line)
		}
		cells = n
	}
}

func TestBenchLines(t *testing.T) {
	line := regexp.MustCompile(`^(Benchmark[^ ]+ [1-9]\d* -?[\d.e+-]+ \S+|Unit \S+ \S+|[a-z]+: .*|# .*)$`)
	for name, r := range runs() {
		for l := range strings.Lines(string(written(t, "benchfmt", r))) {
			if !line.MatchString(strings.TrimSuffix(l, "\n")) {
				t.Errorf("%s: %q", name, l)
			}
		}
	}
}

func TestGitHub(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary.md"), "GITHUB_ACTIONS": "true"}
	var b bytes.Buffer
	if err := GitHub(&b, func(k string) string { return env[k] }, mixedRun()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 6 || !strings.HasPrefix(lines[0], "::error title=weir%3A gate fail%3A useful p99 < 2.50 s::") {
		t.Errorf("annotations:\n%s", &b)
	}
	summary, err := os.ReadFile(env["GITHUB_STEP_SUMMARY"])
	if err != nil || !strings.HasPrefix(string(summary), "### ❌ weir: FAIL") {
		t.Errorf("%v: summary %.80s", err, summary)
	}
	b.Reset()
	if err := GitHub(&b, func(string) string { return "" }, mixedRun()); err != nil || b.Len() > 0 {
		t.Errorf("outside of GitHub: %v %q", err, &b)
	}
	b.Reset()
	if err := GitHub(&b, func(k string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[k] }, hostileRun()); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(b.String()) {
		if !strings.HasPrefix(l, "::error title=") || strings.Contains(l, "%0A\n") {
			t.Errorf("%q", l)
		}
	}
}

func TestAnnotationsAreTenAtMost(t *testing.T) {
	var b bytes.Buffer
	var list []annotation
	for range 14 {
		list = append(list, annotation{"a:b,c", "50 % off\nnext"})
	}
	if err := writeAnnotations(&b, list); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 10 || !strings.Contains(lines[9], "and 5 more") || lines[0] != "::error title=a%3Ab%2Cc::50 %25 off next" {
		t.Errorf("%d lines: %s", len(lines), b.String())
	}
}

func TestSummaryIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	if err := appendSummary(path, strings.Repeat("堰", 1<<19)); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || len(raw) > 1<<20 || !strings.HasSuffix(string(raw), "(cut: GitHub takes 1 MiB)\n") || strings.ContainsRune(string(raw), '\ufffd') {
		t.Errorf("%v, %d bytes", err, len(raw))
	}
}
