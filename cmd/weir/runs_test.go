package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/store/sqlite"
	"weir/store/storetest"
	"weir/table"
)

// filled makes a store of three runs: bench-001 and 002 with 60 rows each,
// bench-010 with none and without a tag.
func filled(t *testing.T) (db string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "weir.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: db})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, n := range []int{1, 2, 10} {
		r := storetest.Run(n)
		rows := storetest.Rows(r.ID, 60)
		if n == 10 {
			r.Tags, r.Partial, rows = []string{}, false, nil
		}
		if err := s.PutRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), r.ID, rows); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// weirSays runs a command and returns its exit code and what it wrote.
func weirSays(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// says is a command and what it should say; "!x" must not be in it.
type says struct {
	args string
	code int
	want []string // in what it wrote, or in its errors
}

func (c says) check(t *testing.T, db string) string {
	t.Helper()
	args := append(splitWords(c.args), "--db", db)
	code, out, errs := weirSays(args...)
	if code != c.code {
		t.Errorf("weir %s: exit %d, want %d\n%s%s", c.args, code, c.code, out, errs)
	}
	for _, w := range c.want {
		if not, ok := strings.CutPrefix(w, "!"); ok == strings.Contains(out+errs, not) {
			t.Errorf("weir %s: want %q\n%s%s", c.args, w, out, errs)
		}
	}
	return out
}

// splitWords splits at blanks outside single quotes.
func splitWords(s string) (words []string) {
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

func TestRuns(t *testing.T) {
	db := filled(t)
	for _, c := range []says{
		{"runs list", 0, []string{"bench-001", "bench-002", "bench-010", "2026-03-01T09:00:00Z", "bench (partial)", "pass", "valid", "nightly", "verdict"}},
		{"runs list --tag nightly", 0, []string{"bench-002", "!bench-010"}},
		{"runs list --tag none", 0, []string{"no runs"}},
		{"runs list -o yaml", 2, []string{`no format "yaml"; there are text, json, csv`}},
		{"runs show last", 0, []string{"bench-010", "seed", "18446744073709551615", "quant=none", "  - {name: peak, rate: 20/s}"}},
		{"runs show bench-00", 1, []string{"begins the ids of 2 runs (bench-001, bench-002)"}},
		{"runs show none", 2, []string{"no such run", "weir runs list"}},
		{"runs show last -o csv", 2, []string{"there are text, json"}},
		{"runs show", 2, []string{"takes a run"}},
		{"runs tag last baseline v2", 0, []string{"bench-010: baseline v2"}},
		{"runs tag v2 --remove v2 --remove baseline", 0, []string{"bench-010: no tags"}},
		{"runs tag last last", 2, []string{"a tag is a letter"}},
		{"runs tag last", 2, []string{"takes tags"}},
		{"runs rm nightly", 2, []string{`2 runs carry the tag "nightly"`}},
		{"runs rm bench-010 none", 2, []string{"no such run"}}, // and removes nothing
		{"runs list", 0, []string{"bench-010"}},
		{"runs rm last bench-001 bench-001", 0, []string{"removed bench-010 (0 rows)", "removed bench-001 (60 rows)"}},
		{"runs list", 0, []string{"bench-002", "!bench-001", "!bench-010"}},
	} {
		c.check(t, db)
	}
	if code, _, errs := weirSays("runs", "drop"); code != 2 || !strings.Contains(errs, "list, show, tag, rm") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestRunsForPrograms(t *testing.T) {
	db := filled(t)
	var runs []table.Run
	out := says{"runs list -o json", 0, nil}.check(t, db)
	if err := json.Unmarshal([]byte(out), &runs); err != nil || len(runs) != 3 || runs[0].Rows != 60 || runs[0].Seed != 1<<64-1 {
		t.Errorf("%v\n%s", err, out)
	}
	var one table.Run
	out = says{"runs show bench-001 -o json", 0, nil}.check(t, db)
	if err := json.Unmarshal([]byte(out), &one); err != nil || one.ID != "bench-001" || one.Plan == "" {
		t.Errorf("%v\n%s", err, out)
	}
	rows, err := csv.NewReader(strings.NewReader(says{"runs list -o csv", 0, nil}.check(t, db))).ReadAll()
	if err != nil || len(rows) != 4 || rows[0][0] != "run" || rows[1][5] != "60" {
		t.Errorf("%v %v", rows, err)
	}
	if out := (says{"runs list -o json --tag none", 0, nil}).check(t, db); out != "[]\n" {
		t.Errorf("%q", out)
	}
}

func TestQuery(t *testing.T) {
	db := filled(t)
	for _, c := range []says{
		{"query", 0, []string{"114 rows of 2 runs", "scenario", "工具", "concurrency", "ttft", "gap_p95", "p50", "!p99", "!hop"}},
		{"query --warmup --run bench-001 --by ''", 0, []string{"60 rows of 1 run", "!scenario"}},
		{"query --run last", 0, []string{"0 rows of 0 runs"}},
		{"query 'never(ttft)' --metric ttft --by outcome", 0, []string{"where never(ttft)", "dropped", "never", "!complete"}},
		{"query 'index == 4' --metric mark.handoff,queue --by label.region", 0, []string{"label.region", "mark.handoff", "eu", "!queue"}},
		{"query 'index == 3' --metric tls", 0, []string{"no row knows any of tls"}},
		{"query --rows 'outcome == \"dropped\" && index < 12'", 0, []string{"4 rows", "req-bench-001-5", "never", "工具"}},
		{"query 'colour == 1'", 2, []string{"column 1", "colour", "label.NAME"}},
		{"query ttft > 1", 2, []string{"put it into quotes"}},
		{"query --by colour", 2, []string{"--by", "colour"}},
		{"query --metric colour", 2, []string{"--metric", "colour", "gap_p95"}},
		{"query -o xml", 2, []string{"text, json, csv"}},
		{"query --run none", 2, []string{"no such run"}},
	} {
		c.check(t, db)
	}
}

func TestQueryForPrograms(t *testing.T) {
	db := filled(t)
	var got struct {
		Where *string
		Rows  int
		By    []string
		Lines []map[string]any
	}
	out := says{"query -o json --by scenario,conn --metric ttft,complete --run bench-001", 0, nil}.check(t, db)
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Where != nil || got.Rows != 57 || len(got.Lines) != 4 {
		t.Fatalf("%v\n%s", err, out)
	}
	// 57 rows: half of them odd; each sixth is dropped (never), each sixth hung (over 2 s)
	if l := got.Lines[0]; l["scenario"] != "工具" || l["conn"] != "warm" || l["metric"] != "ttft" || l["n"] != 29.0 || l["p50_is"] != "over" {
		t.Errorf("%v", l)
	}
	rows, err := csv.NewReader(strings.NewReader(says{"query -o csv --by run --metric ttft", 0, nil}.check(t, db))).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][0] != "run" || rows[1][0] != "bench-001" || rows[2][3] != "57" {
		t.Errorf("%v %v", rows, err)
	}
	out = says{"query --rows -o json --warmup --run bench-002", 0, nil}.check(t, db)
	back, warnings, err := table.ReadRows(strings.NewReader(out), "out")
	if want := storetest.Rows("bench-002", 60); err != nil || len(warnings) > 0 || len(back) != 60 || back[7].Values.Get("gap_max") != want[7].Values.Get("gap_max") {
		t.Errorf("%d rows %v %v", len(back), warnings, err)
	}
	rows, err = csv.NewReader(strings.NewReader(says{"query --rows -o csv 'index == 7'", 0, nil}.check(t, db))).ReadAll()
	if err != nil || len(rows) != 3 || len(rows[0]) < 60 {
		t.Errorf("%d %v", len(rows), err)
	}
	if out := (says{"query -o json 'index > 999'", 0, nil}).check(t, db); !strings.Contains(out, `"lines":[]`) {
		t.Error(out)
	}
}

// TestNoStore: reading where nothing was stored says so, and makes nothing.
func TestNoStore(t *testing.T) {
	db := filepath.Join(t.TempDir(), "none.db")
	for _, args := range []string{"runs list", "runs show last", "runs rm last", "runs tag last x", "query"} {
		says{args, 2, []string{"there is no", "none.db", "--db"}}.check(t, db)
	}
	if _, err := os.Stat(db); err == nil {
		t.Error("a file was made")
	}
	if err := os.WriteFile(db, []byte(strings.Repeat("text ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	says{"query", 2, []string{"no SQLite database"}}.check(t, db)
}
