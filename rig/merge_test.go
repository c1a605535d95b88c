package rig

import (
	"path/filepath"
	"strings"
	"testing"

	gen "weir/load"
)

// Shards that were read back are one run: the same requests as the whole, each
// once, judged over all.
func TestShardsMerge(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("URL", benchMock(t, ""), "duration: 2s", "duration: 1s").Replace(benchPlan)
	var parts []Part
	for i := 1; i <= 2; i++ {
		dir := filepath.Join(t.TempDir(), "out")
		bench(t, text, BenchOptions{Dir: dir, Shard: gen.Shard{I: i, N: 2}, ID: string(rune('a' + i))})
		f, rows, warnings, err := ReadRunDir(dir)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		parts = append(parts, Part{f, rows})
	}
	all, err := MergeShards(parts)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, r := range all.Rows {
		if seen[r.Index] {
			t.Errorf("request %d is there twice", r.Index)
		}
		seen[r.Index] = true
	}
	if len(seen) != 60 || all.Phases[0].Sent != 50 || all.Phases[0].Warmups != 10 || all.Decision() != "pass" || all.Fitness() != "valid" {
		t.Errorf("%d requests, %+v, %s, %s", len(seen), all.Phases, all.Decision(), all.Health)
	}
	r, err := all.Report(all.Rows)
	if err != nil || len(r.Judged.Gates) != 3 || r.Judged.Gates[0].N != 50 || len(r.Judged.Rules) != 2 || r.Judged.Rules[0].Checked == 0 {
		t.Errorf("%v %+v", err, r.Judged)
	}
	refuses(t, parts)
}

func refuses(t *testing.T, parts []Part) {
	t.Helper()
	change := func(f func(*Part)) []Part {
		p := parts[1]
		f(&p)
		return []Part{parts[0], p}
	}
	for want, list := range map[string][]Part{
		"given twice":           {parts[0], parts[0]},
		"different plans":       change(func(p *Part) { p.Plan += "#" }),
		"the seeds 0 and 7":     change(func(p *Part) { p.Seed = 7 }),
		"is no shard":           change(func(p *Part) { p.Shard = "" }),
		"are not parts of one":  change(func(p *Part) { p.Shard = "2/3" }),
		"under the definitions": change(func(p *Part) { p.Definitions = 99 }),
	} {
		if _, err := MergeShards(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want …%s…", err, want)
		}
	}
	if one, err := MergeShards(parts[:1]); err != nil || one.ID != parts[0].ID {
		t.Errorf("one shard alone: %v", err)
	}
}
