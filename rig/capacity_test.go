package rig

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/judge"
	gen "weir/load"
	"weir/metric"
	"weir/stat"
	"weir/stream"
	"weir/table"
)

// narrow is a service that answers one question after the other, each in 20 ms.
func narrow(t *testing.T) string {
	turn := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-r.Context().Done():
			return
		}
		time.Sleep(20 * time.Millisecond)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n"+
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const capacityPlan = lax + `target: {url: "URL"}
load: [{name: any, arrivals: constant, rate: 12/s, duration: 1s}]
scenarios: [{name: a, gates: {ttft: [{limit: p50 < 150ms, phase: any}]}}]
gates: {complete: [share >= 99%]}
`

func TestCapacityIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var told []float64
	found, err := FindCapacity(t.Context(), parse(t, strings.Replace(capacityPlan, "URL", narrow(t), 1)), CapacityOptions{
		Precision: 0.4, Rest: time.Millisecond, Bench: BenchOptions{Dir: dir},
		Point: func(p CapacityPoint) { told = append(told, p.Rate) },
	})
	if err != nil {
		t.Fatal(err)
	}
	// It serves 50 a second, on a quiet machine.
	if found.Verdict != judge.Pass || found.Rate == nil || *found.Rate > 64 || found.Below == nil || *found.Below > 97 || *found.Below <= *found.Rate {
		t.Fatalf("%+v", found)
	}
	if !strings.Contains(found.Why, "ttft p50") || len(found.Curve) != len(told) {
		t.Errorf("why %q, %d points, told of %v", found.Why, len(found.Curve), told)
	}
	for i, p := range found.Curve {
		if i > 0 && p.Rate <= found.Curve[i-1].Rate {
			t.Errorf("the curve falls back at %v", p.Rate)
		}
		if p.Holds && p.Goodput < p.Achieved*0.4 || !p.Holds && p.Goodput > p.Achieved || len(p.Figures) == 0 {
			t.Errorf("%+v", p)
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(dir, "*", "run.json"))
	if len(dirs) != len(found.Curve) {
		t.Errorf("%d run directories of %d rates", len(dirs), len(found.Curve))
	}
}

func TestCapacityOfNothing(t *testing.T) {
	t.Parallel()
	p := parse(t, strings.NewReplacer("URL", "http://127.0.0.1:1", "duration: 1s", "duration: 300ms").Replace(capacityPlan))
	found, err := FindCapacity(t.Context(), p, CapacityOptions{Rest: time.Millisecond})
	if err != nil || !found.NoStream || found.Verdict != judge.Fail || found.Rate != nil || len(found.Curve) != 1 {
		t.Errorf("%v %+v", err, found)
	}
}

func TestCapacityRefusesPlans(t *testing.T) {
	p := parse(t, strings.Replace(capacityPlan, "URL", "http://h", 1))
	for want, o := range map[string]CapacityOptions{
		"factor 1":             {Factor: 1},
		"precision 2":          {Precision: 2},
		"the highest rate 1/s": {Max: 1},
	} {
		if _, err := FindCapacity(t.Context(), p, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want …%s…", err, want)
		}
	}
	for want, text := range map[string]string{
		"the plan has no gates":     "target: {url: \"http://h\"}\nload: [{rate: 1/s, duration: 1s}]\nscenarios: [{name: a}]\n",
		"phase has arrivals closed": "target: {url: \"http://h\"}\nload: [{arrivals: closed, concurrency: 1, duration: 1s}]\nscenarios: [{name: a}]\ngates: {complete: [share >= 1%]}\n",
	} {
		if _, err := FindCapacity(t.Context(), parse(t, text), CapacityOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want …%s…", err, want)
		}
	}
}

// A low rate is held until its gates can be decided.
func TestHoldIsLongEnough(t *testing.T) {
	p := parse(t, strings.NewReplacer("URL", "http://h", "p50 < 150ms, phase: any", "p95 < 150ms").Replace(capacityPlan))
	o, err := CapacityOptions{}.withDefaults(p)
	if err != nil {
		t.Fatal(err)
	}
	s := &search{plan: p, o: o}
	if d := s.hold(1); d != 85*time.Second {
		t.Errorf("p95 at 1/s is held %v", d)
	}
	if d := s.hold(1000); d != time.Second {
		t.Errorf("at 1000/s %v", d)
	}
	if d := s.hold(gen.Rate(0.01)); d != longest {
		t.Errorf("at 0.01/s %v", d)
	}
}

func TestGoodputAsksEachRequest(t *testing.T) {
	gates := judge.Gates{}
	for name, text := range map[string]string{"ttft": "p95 < 2s", "complete": "share >= 99%", "dropped": "share <= 1%", "checked": "share >= 90%", "rate": "> 3"} {
		c, err := judge.ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		gates[name] = []judge.Condition{c}
	}
	row := func(o stream.Outcome, values map[string]metric.Value) table.Row {
		r := table.Row{Outcome: o}
		r.Values = r.Values.With(values)
		return r
	}
	for _, c := range []struct {
		name string
		want bool
		row  table.Row
	}{
		{"good", true, row(stream.Complete, map[string]metric.Value{"ttft": stat.At(1999), "mark.checked": stat.At(3)})},
		{"late", false, row(stream.Complete, map[string]metric.Value{"ttft": stat.At(2000), "mark.checked": stat.At(3)})},
		{"never spoke", false, row(stream.Complete, map[string]metric.Value{"ttft": {Is: stat.Never}})},
		{"cut short", false, row(stream.Truncated, map[string]metric.Value{"ttft": stat.At(5)})},
		{"dropped", false, row(stream.Dropped, nil)},
		{"not checked", false, row(stream.Complete, map[string]metric.Value{"ttft": stat.At(5), "mark.checked": {Is: stat.Never}})},
		{"does not apply", true, row(stream.Gapped, nil)},
	} {
		if got := good([]table.Row{c.row}, &LoadPlan{Gates: gates}) == 1; got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
