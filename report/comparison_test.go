package report

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"weir/judge"
	"weir/stat"
)

// comparedSides are sides of k runs, B slower in ttft by a factor.
func comparedSides(k int, factor float64) (judge.Comparison, error) {
	rng := rand.New(rand.NewPCG(3, 4))
	side := func(name string, factor float64, after time.Duration) judge.Side {
		s := judge.Side{Name: name}
		for i := range k {
			f := map[judge.Figure]stat.Point{}
			for _, x := range []struct {
				figure judge.Figure
				v      float64
			}{
				{judge.Figure{Metric: "ttft", Stat: "p50"}, 400 * factor}, {judge.Figure{Metric: "ttft", Stat: "p95"}, 900 * factor},
				{judge.Figure{Metric: "gap_p95", Stat: "p50"}, 60}, {judge.Figure{Metric: "complete", Stat: "share"}, 0.9},
				{judge.Figure{Metric: "rate_decode", Stat: "p50"}, 36},
			} {
				f[x.figure] = stat.Point{V: x.v * (1 + 0.01*rng.NormFloat64()), Is: stat.Exact}
			}
			s.Runs = append(s.Runs, judge.RunFigures{ID: fmt.Sprintf("%s-%d", name, i), Valid: "valid",
				Start:  time.Date(2026, 11, 30, 8, 2*i, 0, 0, time.UTC).Add(after),
				Config: map[string]string{"prompt": name, "target": "http://127.0.0.1:9000"}, Figures: f})
		}
		return s
	}
	return judge.Compare(side("短提示", 1, 0), side("long|prompt", factor, time.Minute), judge.CompareOptions{Vary: []string{"prompt"}, Seed: 1})
}

func TestComparisonGoldens(t *testing.T) {
	for name, c := range map[string]struct {
		k      int
		factor float64
	}{"slower": {6, 1.3}, "same": {8, 1}, "few": {2, 1.3}} {
		got, err := comparedSides(c.k, c.factor)
		if err != nil {
			t.Fatal(err)
		}
		for format, ext := range map[string]string{"text": "txt", "markdown": "md"} {
			f, err := LookupComparison(format)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := f.Write(&b, got, View{Width: 140}); err != nil {
				t.Fatal(err)
			}
			golden(t, "compare-"+name+"."+ext, b.Bytes())
		}
		if got.Verdict == judge.Slower {
			var b bytes.Buffer
			env := func(k string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[k] }
			if err := GitHubComparison(&b, env, got); err != nil || !strings.HasPrefix(b.String(), "::error title=weir%3A ttft") {
				t.Errorf("%v %q", err, &b)
			}
		}
	}
}
