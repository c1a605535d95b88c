package rig

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/judge"
	"weir/store"
	"weir/store/sqlite"
	"weir/table"
)

// shortPlan is a run of 24 requests in 0.4 s.
const shortPlan = lax + `target: {url: "URL", model: mock}
load: [{name: p, arrivals: constant, rate: 60/s, duration: 400ms}]
scenarios: [{name: a, request: {prompt: hello}}]
gates: {ttft: [p50 < 20s], complete: [share >= 99%]}
`

func short(t *testing.T, set string) *LoadPlan {
	t.Helper()
	return parse(t, strings.Replace(shortPlan, "URL", benchMock(t, set), 1))
}

func openStore(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "weir.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A target whose ttft is half as long again is found slower in 6 runs a side;
// every run but the discarded ones is kept, in the store and in directories,
// and what is kept compares to the same verdict.
func TestInterleaveFindsSlower(t *testing.T) {
	t.Parallel()
	plan := short(t, "ttft=160ms,gap=1ms,n=5")
	slow, err := plan.At(benchMock(t, "ttft=480ms,gap=1ms,n=5"))
	if err != nil {
		t.Fatal(err)
	}
	s, dir := openStore(t), filepath.Join(t.TempDir(), "out")
	var steps []Step
	o := InterleaveOptions{
		A: Arm{Name: "old", Plan: plan}, B: Arm{Name: "new", Plan: slow}, Rest: 1,
		Bench: BenchOptions{Store: s, Dir: dir}, Compare: judge.CompareOptions{Vary: []string{VaryTarget}},
		Step: func(x Step) { steps = append(steps, x) },
	}
	found, err := Interleave(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c := found.Comparison
	if c == nil || c.Verdict != judge.Slower || !c.Convicts || c.M != 2 || c.Family != "gated" || len(found.A) != 6 || len(found.B) != 6 {
		t.Fatalf("%d and %d runs: %+v", len(found.A), len(found.B), c)
	}
	if ttft := c.Figures[slices.IndexFunc(c.Figures, func(f judge.FigureVerdict) bool { return f.Metric == "ttft" })]; ttft.Shift == nil || *ttft.Shift < 100 {
		t.Errorf("shift of ttft: %+v", ttft)
	}
	if len(steps) != 14 || !steps[0].Discard || !steps[1].Discard || steps[2].Discard {
		t.Errorf("steps: %+v", steps)
	}
	for _, w := range c.Warnings {
		if strings.Contains(w, "interleaved") || strings.Contains(w, "cache") {
			t.Errorf("warned: %s", w)
		}
	}
	againKept(t, s, dir, found)
}

func againKept(t *testing.T, s store.Store, dir string, found *Interleaved) {
	t.Helper()
	var a, b []Part
	for r, err := range s.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows, err := store.Rows(t.Context(), s, table.Query{Run: r.ID})
		if err != nil {
			t.Fatal(err)
		}
		p, err := PartOf(r, rows)
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimPrefix(r.ID, found.ID+"-"); name[0] == 'a' {
			a = append(a, p)
		} else {
			b = append(b, p)
		}
	}
	c, err := CompareRuns(a, b, [2]string{"A", "B"}, judge.CompareOptions{Vary: []string{VaryTarget}})
	if err != nil || c.Verdict != judge.Slower || len(c.A.Runs) != 6 || len(c.B.Runs) != 6 {
		t.Errorf("from the store: %v, %+v", err, c)
	}
	p, err := PartIn(filepath.Join(dir, "a1"))
	if err != nil || p.ID != found.ID+"-a1" || len(p.Rows) != 24 || len(p.Phases) != 1 || p.Config["cache"] != "cold" {
		t.Errorf("from the directory: %v, %+v", err, p.RunFile)
	}
	if _, err := CompareRuns(a, b, [2]string{}, judge.CompareOptions{}); !errors.As(err, new(*judge.UnlikeError)) {
		t.Errorf("unlike targets were compared: %v", err)
	}
}

// With 4 runs a side no difference in two figures can be found, which is said
// before; so none is.
func TestInterleaveFewNeverConvict(t *testing.T) {
	t.Parallel()
	plan := short(t, "ttft=20ms,gap=1ms,n=5")
	o := InterleaveOptions{A: Arm{Plan: plan}, B: Arm{Plan: plan}, Repeats: 4, Rest: 1}
	ahead, err := o.Forecast()
	if err != nil || !strings.Contains(ahead.Warning, "5 runs a side are needed") || ahead.Runs != 10 || len(ahead.Figures) != 2 ||
		ahead.Duration < 4*time.Second || ahead.Duration > 5*time.Second || ahead.AtLeast {
		t.Errorf("%v, %+v", err, ahead)
	}
	found, err := Interleave(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if c := found.Comparison; c == nil || c.Convicts || c.Verdict == judge.Slower || c.Verdict == judge.Faster {
		t.Errorf("%+v", found)
	}
}

// What was cut short is not compared, and so it is said.
func TestInterleaveInterrupted(t *testing.T) {
	t.Parallel()
	plan := short(t, "ttft=20ms,gap=1ms,n=5")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := InterleaveOptions{A: Arm{Plan: plan}, B: Arm{Plan: plan}, Rest: 1}
	o.Step = func(s Step) {
		if s.I == 5 {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
	}
	found, err := Interleave(ctx, o)
	if err != nil || !found.Partial || len(found.A) != 1 || len(found.B) != 1 {
		t.Fatalf("%v, %+v", err, found)
	}
	if c := found.Comparison; c == nil || c.Convicts || !strings.Contains(strings.Join(c.Warnings, "\n"), "was cut short and is not") {
		t.Errorf("%+v", c)
	}
}

func TestInterleaveSaysWhatGaveNoStream(t *testing.T) {
	t.Parallel()
	plan := short(t, "ttft=20ms,gap=1ms,n=5")
	dead, err := plan.At("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	found, err := Interleave(t.Context(), InterleaveOptions{A: Arm{Plan: plan}, B: Arm{Plan: dead}, Rest: 1, Compare: judge.CompareOptions{Vary: []string{VaryTarget}}})
	if err != nil || found.NoStream != "B" || found.Comparison != nil {
		t.Errorf("%v, %+v", err, found)
	}
}

// The instrument's failures are no difference between services.
func TestInterleaveLeavesInvalidOut(t *testing.T) {
	t.Parallel()
	text := strings.Replace(strings.Replace(shortPlan, "URL", benchMock(t, "ttft=20ms,gap=1ms,n=5"), 1),
		"lateness_p95_invalid_ms: 60000", "lateness_p95_invalid_ms: 0, lateness_p95_invalid_ttft: 0", 1)
	plan := parse(t, text)
	found, err := Interleave(t.Context(), InterleaveOptions{A: Arm{Plan: plan}, B: Arm{Plan: plan}, Repeats: 1, Rest: 1})
	if err != nil || found.Comparison != nil || found.Unfit != 2 || !strings.Contains(strings.Join(found.Warnings, "\n"), "is left out: the instrument was not fit") {
		t.Errorf("%v, %+v", err, found)
	}
}

func TestInterleaveOrder(t *testing.T) {
	t.Parallel()
	plan := short(t, "")
	o := InterleaveOptions{A: Arm{Plan: plan}, B: Arm{Plan: plan}, Repeats: 200}
	o.Bench.Seed = 7
	order := o.order()
	if !slices.Equal(order, o.order()) {
		t.Error("the same seed gives another order")
	}
	first := 0
	for pair := range slices.Chunk(order, 2) {
		if len(pair) != 2 || pair[0] == pair[1] {
			t.Fatalf("a pair of %v", pair)
		}
		if pair[0] == "a" {
			first++
		}
	}
	if first < 70 || first > 131 {
		t.Errorf("A is first in %d of 201 pairs", first)
	}
	o.Bench.Seed = 8
	if slices.Equal(order, o.order()) {
		t.Error("another seed gives the same order")
	}
}

// What would be unlike is refused before the first run.
func TestInterleaveRefusesUnlike(t *testing.T) {
	t.Parallel()
	base := short(t, "")
	for key, change := range map[string][2]string{
		"prompt":    {"prompt: hello", "prompt: hello and goodbye"},
		"load":      {"rate: 60/s", "rate: 61/s"},
		"model":     {"model: mock", "model: other"},
		"scenarios": {"{prompt: hello}", "{prompt: hello, max_tokens: 7}"},
		"transport": {`model: mock`, "model: mock, connections: fresh"},
		"cache":     {"gates:", "cache: warm\ngates:"},
		"build":     {"gates:", "labels: {quant: int8}\ngates:"},
	} {
		text := strings.Replace(shortPlan, "URL", base.Target.URL, 1)
		other := parse(t, strings.Replace(text, change[0], change[1], 1))
		o := InterleaveOptions{A: Arm{Plan: base}, B: Arm{Plan: other}}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), key+" is") || strings.Count(err.Error(), ";") > 0 {
			t.Errorf("%s: %v", key, err)
		}
		o.Compare.Vary = []string{key}
		if err := o.Validate(); err != nil {
			t.Errorf("%s varied: %v", key, err)
		}
	}
	same := parse(t, "# a remark\n"+strings.NewReplacer("URL", base.Target.URL, "ttft: [p50 < 20s]", "ttft: [p50 < 21s]", "{name: p, ", "{name: p, on_full: drop, ").Replace(shortPlan))
	if err := (InterleaveOptions{A: Arm{Plan: base}, B: Arm{Plan: same}}).Validate(); err != nil {
		t.Errorf("remarks, gates and written-out defaults are no difference: %v", err)
	}
}

// Earlier runs of a tag are side A; a cut or unfit one among them is refused.
func TestInterleaveBaseline(t *testing.T) {
	t.Parallel()
	plan := short(t, "ttft=20ms,gap=1ms,n=5")
	var base []Part
	for i := range 2 {
		b := bench(t, plan.Text(), BenchOptions{ID: string(rune('x' + i))})
		base = append(base, b.part(plan))
	}
	o := InterleaveOptions{B: Arm{Plan: plan}, Baseline: base, Repeats: 1, Rest: 1}
	found, err := Interleave(t.Context(), o)
	if err != nil || found.Comparison == nil || len(found.Comparison.A.Runs) != 2 || len(found.Comparison.B.Runs) != 1 {
		t.Fatalf("%v, %+v", err, found)
	}
	for want, spoil := range map[string]func(*Part){
		"was cut short": func(p *Part) { p.Partial = true },
		"is invalid":    func(p *Part) { p.Health = []byte(`{"verdict":"invalid"}`) },
		"load is":       func(p *Part) { p.Config = nil },
	} {
		bad := base[1]
		spoil(&bad)
		o.Baseline = []Part{base[0], bad}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want …%s…", err, want)
		}
	}
}
