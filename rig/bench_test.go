package rig

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/judge"
	"weir/mock"
	"weir/table"
)

func benchMock(t *testing.T, set string) string {
	t.Helper()
	s, err := mock.Start(mock.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.URL()
}

func parse(t *testing.T, text string) *LoadPlan {
	t.Helper()
	p, err := ParsePlan("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bench(t *testing.T, text string, o BenchOptions) *Bench {
	t.Helper()
	b, err := RunBench(t.Context(), parse(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lax keeps a busy machine from deciding a test.
const lax = "health_limits: {lateness_p99_suspect_ms: 60000, lateness_p95_invalid_ms: 60000, sched_p99_suspect_ms: 60000, achieved_invalid: 0, achieved_suspect: 0, lag_share_suspect: 1, lag_share_invalid_app: 1, lag_share_invalid_kernel: 1}\n"

const benchPlan = lax + `target: {url: "URL/custom/chat?ttft=20ms&gap=2ms&n=10&emit=tool_timeout@3,handoff@5&state=decision:ok@6,reason:r@7,next_step:s@8"}
load: [{name: peak, arrivals: constant, rate: 50/s, duration: 2s, warmup: 200ms}]
scenarios:
  - name: qa
    weight: 2
    marks: {useful: "state.decision != nil && state.reason != nil && state.next_step != nil", decision: "state.decision != nil"}
    gates: {useful: [p50 < 20s]}
    rules:
      - {name: told in time, when: tool_timeout, then: handoff, within: 10s}
      - {name: never before, never: decision, before: handoff}
  - {name: other}
gates: {complete: [share >= 99%], ttft: [p50 > 1ms]}
`

func TestBenchPasses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	b := bench(t, strings.Replace(benchPlan, "URL", benchMock(t, ""), 1), BenchOptions{Dir: dir, Weir: "test"})
	if b.Verdict.Verdict != judge.Pass || len(b.Rows) != 110 || len(b.Verdict.Rules) != 2 {
		t.Fatalf("%d rows, %+v", len(b.Rows), b.Verdict)
	}
	for _, r := range b.Verdict.Rules {
		if r.Checked == 0 || r.Violations != 0 || r.Applied != r.Checked {
			t.Errorf("%+v", r)
		}
	}
	f, err := os.Open(filepath.Join(dir, "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, warnings, err := table.ReadRows(f, "rows.jsonl")
	if err != nil || len(rows) != 110 || len(warnings) != 0 {
		t.Errorf("rows.jsonl: %d rows, %v, %v", len(rows), warnings, err)
	}
	var run RunFile
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err == nil {
		err = json.Unmarshal(text, &run)
	}
	if err != nil || run.Decision() != "pass" || run.Fitness() != "valid" || run.Partial || run.Run.Rows != 110 || run.Phases[0].Sent != 100 || !strings.Contains(run.Plan, "told in time") {
		t.Errorf("run.json: %v %+v", err, run)
	}
	if logged := logRecords(t, dir, b.Logs); logged != 110 {
		t.Errorf("%d records in the event log", logged)
	}
	if _, err := RunBench(t.Context(), parse(t, strings.Replace(benchPlan, "URL", "http://h", 1)), BenchOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("a second run in one directory: %v", err)
	}
}

func logRecords(t *testing.T, dir string, paths []string) int {
	t.Helper()
	n := 0
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log, err := eventlog.Read(f, p)
		if err != nil || log.Torn {
			t.Fatalf("%s: %v, torn %t", p, err, log.Torn)
		}
		n += len(log.Records)
	}
	return n
}

// Each kind of failure is told by its gate, behind good figures too.
func TestBenchFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, behaviour, metric, rule string }{
		{"late hand-off", "emit=tool_timeout@2,handoff@9&gap=80ms", "", "told in time"},
		{"decision before the check", "state=decision:ok@2&emit=handoff@5", "", "never before"},
		{"cut short behind good latency", "truncate_after=4", "complete", ""},
		{"a service that fails fast", "status=503", "ttft", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := bench(t, strings.NewReplacer(
				"URL/custom/chat?ttft=20ms&gap=2ms&n=10&emit=tool_timeout@3,handoff@5&state=decision:ok@6,reason:r@7,next_step:s@8", benchMock(t, "")+"/custom/chat?ttft=20ms&n=10&"+c.behaviour,
				"duration: 2s", "duration: 1s", "within: 10s", "within: 300ms", "p50 > 1ms", "p50 < 5s", "  - {name: other}\n", "", "    gates: {useful: [p50 < 20s]}\n", "").Replace(benchPlan), BenchOptions{})
			if b.Verdict.Verdict != judge.Fail {
				t.Fatalf("%+v", b.Verdict)
			}
			for _, g := range b.Verdict.Gates {
				if g.Metric == c.metric && g.Verdict != judge.Fail {
					t.Errorf("gate %+v", g)
				}
			}
			for _, r := range b.Verdict.Rules {
				if r.Name == c.rule && (r.Violations == 0 || len(r.RequestIDs) == 0) {
					t.Errorf("rule %+v", r)
				}
			}
		})
	}
}

func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	p := parse(t, strings.NewReplacer("URL", benchMock(t, ""), "duration: 2s", "duration: 1h", "gap=2ms", "gap=50ms").Replace(benchPlan))
	b, err := RunBench(ctx, p, BenchOptions{Dir: dir})
	if err != nil || !b.Run.Partial || len(b.Rows) < 5 {
		t.Fatalf("%v, partial %t, %d rows", err, b.Run.Partial, len(b.Rows))
	}
	if n := logRecords(t, dir, b.Logs); n != len(b.Rows) {
		t.Errorf("%d records in the log, %d rows", n, len(b.Rows))
	}
}

func TestBenchNoStream(t *testing.T) {
	t.Parallel()
	b := bench(t, strings.Replace(benchPlan, "URL", "http://127.0.0.1:1", 1), BenchOptions{})
	if !b.NoStream() {
		t.Error("a target that is not there gave a stream")
	}
}

// A log that cannot be written is said as it happens, counted, and makes the
// run invalid; the figures are whole.
func TestBenchSaysWhatItCouldNotWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// A file where the log wants a directory for the day.
	if err := os.MkdirAll(filepath.Join(dir, "events"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "events", time.Now().UTC().Format(time.DateOnly)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	b := bench(t, strings.Replace(benchPlan, "URL", benchMock(t, ""), 1), BenchOptions{Dir: dir, Notice: func(s string) { said = append(said, s) }})
	if len(said) != 1 || !strings.Contains(said[0], "event log") || b.Load.Health.Lost != 110 || b.Verdict.Verdict != judge.Invalid {
		t.Errorf("said %q, lost %d, %s", said, b.Load.Health.Lost, b.Verdict.Verdict)
	}
	if len(b.Rows) != 110 {
		t.Errorf("%d rows", len(b.Rows))
	}
}
