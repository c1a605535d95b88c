package sqlite

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"weir/metric"
	"weir/store/storetest"
	"weir/table"
)

// TestArticleView holds the view to the rows: the article's columns, in its
// order, with our values.
func TestArticleView(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "weir.db"))
	defer s.Close()
	rows := storetest.Rows("bench-001", 20)
	rows[7].Hop = "direct"
	fill(t, s, storetest.Run(1), rows)
	found, err := s.r.QueryContext(t.Context(), "SELECT * FROM article_metrics ORDER BY created_at")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	names, _ := found.Columns()
	if got := strings.Join(names, ", "); got != "request_id, ttft_ms, rate_e2e_tps, rate_stream_tps, p95_gap_ms, max_gap_ms, stall_rate, done_received, total_tokens, created_at" {
		t.Error(got)
	}
	var want []table.Row
	for _, r := range rows {
		if !r.Warmup && r.Hop == "" {
			want = append(want, r)
		}
	}
	n := 0
	for ; found.Next(); n++ {
		got := make([]any, 10)
		into := make([]any, 10)
		for i := range got {
			into[i] = &got[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		r := want[n]
		done := int64(0)
		if _, ok := r.Values.Get("done").Get(); ok {
			done = 1
		}
		if w := []any{
			r.Request, cell(r, "ttft"), cell(r, "rate_e2e"), cell(r, "rate_stream"), cell(r, "gap_p95"), cell(r, "gap_max"),
			cell(r, "stall_rate"), done, cell(r, "tokens"), r.Start.Format(timeLayout),
		}; !reflect.DeepEqual(got, w) {
			t.Errorf("got  %v\nwant %v", got, w)
		}
	}
	if err := found.Err(); err != nil || n != len(want) || n != 16 {
		t.Errorf("%d rows of %d, %v", n, len(want), err)
	}
}

func cell(r table.Row, name string) any {
	if v, ok := r.Values.Get(name).Get(); ok {
		return v
	}
	return nil
}

// TestPlainSQL asks what the package comment says can be asked.
func TestPlainSQL(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "weir.db"))
	defer s.Close()
	rows := storetest.Rows("bench-001", 60)
	fill(t, s, storetest.Run(1), rows)
	count := func(holds func(metric.Values) bool) (n int) {
		for _, r := range rows {
			if holds(r.Values) {
				n++
			}
		}
		return n
	}
	is := func(name string, state metric.State) func(metric.Values) bool {
		return func(v metric.Values) bool { return v.Get(name).Is == state }
	}
	for query, want := range map[string]int{
		`SELECT count(*) FROM rows WHERE labels ->> '$.region' = 'eu'`:                       60,
		`SELECT count(*) FROM rows WHERE dynamic ->> '$."stage.prefill"' = 30`:               count(is("stage.prefill", metric.Reached)),
		`SELECT count(*) FROM rows WHERE dynamic ->> '$."mark.handoff"' > 0`:                 count(is("mark.handoff", metric.Reached)),
		`SELECT count(*) FROM rows WHERE states ->> '$.complete_ms' = 'never'`:               count(is("complete", metric.Never)),
		`SELECT count(*) FROM rows WHERE states ->> '$.complete_ms.over' >= 2000`:            count(is("complete", metric.Over)),
		`SELECT count(*) FROM rows WHERE ttft_ms IS NOT NULL`:                                count(is("ttft", metric.Reached)),
		`SELECT count(*) FROM runs WHERE verdict = 'pass' AND labels ->> '$.quant' = 'none'`: 1,
		`SELECT count(*) FROM runs, json_each(tags) WHERE value = 'nightly'`:                 1,
	} {
		got := 0
		if err := s.r.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want || got == 0 {
			t.Errorf("%s: %d, want %d (%v)", query, got, want, err)
		}
	}
}
