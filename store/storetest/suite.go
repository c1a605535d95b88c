package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/metric"
	"weir/stat"
	"weir/store"
	"weir/table"
)

// Suite runs every test of what stores promise. open gives an empty store;
// the suite closes it.
func Suite(t *testing.T, open func(*testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"runs come back as they were", runsComeBack},
		{"a run is replaced and keeps its tags", runIsReplaced},
		{"rows come back as they were", rowsComeBack},
		{"odd rows come back as they were", oddRowsComeBack},
		{"rows come in order", rowsComeInOrder},
		{"rows are replaced, not doubled", rowsAreReplaced},
		{"rows are filtered", rowsAreFiltered},
		{"asked metrics are there", askedMetricsAreThere},
		{"deleting a run leaves the others", deleteLeavesOthers},
		{"rows need their run", rowsNeedTheirRun},
		{"an ended context is an error", endedContext},
		{"reading may stop and may write", readingMayStop},
		{"many write at once", manyWrite},
		{"a writer stores every row", writerStoresAll},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			defer func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			c.test(t, s)
		})
	}
}

func put(t *testing.T, s store.Store, r table.Run, rows ...table.Row) {
	t.Helper()
	if err := s.PutRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), r.ID, rows); err != nil {
		t.Fatal(err)
	}
}

func runs(t *testing.T, s store.Store) []table.Run {
	t.Helper()
	var out []table.Run
	for r, err := range s.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func rows(t *testing.T, s store.Store, q table.Query) []table.Row {
	t.Helper()
	out, err := store.Rows(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func runsComeBack(t *testing.T, s store.Store) {
	if got := runs(t, s); len(got) != 0 {
		t.Fatalf("an empty store holds %v", got)
	}
	least := table.Run{ID: "least"} // began at an unknown time: the oldest
	for _, r := range []table.Run{Run(2), least, Run(1)} {
		put(t, s, r)
	}
	put(t, s, Run(1), Rows("bench-001", 5)...)
	want := []table.Run{least, Run(1), Run(2)}
	want[1].Rows = 5
	if got := runs(t, s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func runIsReplaced(t *testing.T, s store.Store) {
	r := Run(1)
	put(t, s, r, Rows(r.ID, 3)...)
	r.Partial, r.Verdict, r.Tags = false, json.RawMessage(`{"verdict":"fail"}`), nil
	put(t, s, r)
	got := runs(t, s)
	if len(got) != 1 || got[0].Partial || got[0].Decision() != "fail" || !slices.Equal(got[0].Tags, []string{"nightly"}) || got[0].Rows != 3 {
		t.Errorf("%+v", got)
	}
	if now, err := store.Tag(t.Context(), s, r.ID, []string{"base"}, []string{"nightly"}); err != nil || !slices.Equal(now.Tags, []string{"base"}) {
		t.Errorf("%v %v", now.Tags, err)
	}
	if _, err := store.Tag(t.Context(), s, r.ID, nil, []string{"base"}); err != nil {
		t.Error(err)
	}
	if got := runs(t, s)[0]; len(got.Tags) != 0 || got.Decision() != "fail" {
		t.Errorf("%+v", got)
	}
	if err := s.PutRun(t.Context(), table.Run{}); err == nil {
		t.Error("a run without an id was stored")
	}
}

func rowsComeBack(t *testing.T, s store.Store) {
	want := Rows("bench-001", 50)
	put(t, s, Run(1), want...)
	got := rows(t, s, table.Query{Run: "bench-001"})
	if len(got) != len(want) {
		t.Fatalf("%d rows of %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("row %d\ngot  %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

// oddRowsComeBack stores what is empty, what is strange, and every state of
// every metric.
func oddRowsComeBack(t *testing.T, s store.Store) {
	want := []table.Row{{Key: table.Key{Run: "bench-001"}}}
	for i, is := range []metric.State{metric.Reached, metric.Over, metric.Never} {
		vals := map[string]metric.Value{"stage.a\"b": {Is: is}, "mark.人工": {Is: is}}
		for j, m := range metric.All {
			vals[m.Name] = metric.Value{Is: is}
			if is != metric.Never {
				vals[m.Name] = metric.Value{V: -0.1 + float64(j)/3, Is: is}
			}
		}
		r := table.Row{Key: table.Key{Request: "r\x00 '\"%", Run: "bench-001", Index: i + 1, Labels: map[string]string{"": "", "键": "'; --"}}}
		r.Reason, r.Start = "x\n\u2028", time.Unix(0, 1).UTC()
		r.Values = metric.Values{Shape: "s", TokenSource: "t", K1Source: "k", FluidityBasis: "f", FirstKind: "e", GapMaxOpen: true}.With(vals)
		want = append(want, r)
	}
	want[0].Values = want[0].Values.With(nil)
	put(t, s, Run(1), want...)
	if got := rows(t, s, table.Query{}); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	bad := table.Row{Key: table.Key{Request: "bad"}, Values: metric.Values{}.With(map[string]metric.Value{"ttft": stat.At(nan())})}
	if err := s.Put(t.Context(), "bench-001", []table.Row{bad}); err == nil || !strings.Contains(err.Error(), "ttft") {
		t.Errorf("a value that is no number gave %v", err)
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

func rowsComeInOrder(t *testing.T, s store.Store) {
	keys := []table.Key{
		{Run: "bench-001", Index: 0, Request: "b"}, {Run: "bench-001", Index: 0, Hop: "direct", Request: "a"},
		{Run: "bench-001", Index: 0, Choice: 1, Request: "a"}, {Run: "bench-001", Index: 2}, {Run: "bench-001", Index: 10}, {Run: "bench-002"},
	}
	for i := range slices.Backward(keys) {
		put(t, s, Run(1+i/5), table.Row{Key: keys[i]})
	}
	var got []table.Key
	for _, r := range rows(t, s, table.Query{}) {
		got = append(got, r.Key)
	}
	if !reflect.DeepEqual(got, keys) {
		t.Errorf("got  %+v\nwant %+v", got, keys)
	}
}

func rowsAreReplaced(t *testing.T, s store.Store) {
	all := Rows("bench-001", 10)
	put(t, s, Run(1), all...)
	all[4].Reason = "measured again"
	put(t, s, Run(1), all[3:6]...)
	put(t, s, Run(2), all...) // the same requests in another run are others, and its own
	if got := rows(t, s, table.Query{Run: "bench-001"}); !reflect.DeepEqual(got, all) {
		t.Errorf("%d rows, %+v", len(got), got)
	}
	if got := rows(t, s, table.Query{Run: "bench-002"}); len(got) != 10 || got[0].Run != "bench-002" {
		t.Errorf("%d rows", len(got))
	}
}

// rowsAreFiltered holds every store to the filter of package table.
func rowsAreFiltered(t *testing.T, s store.Store) {
	all := append(Rows("bench-001", 40), Rows("bench-002", 40)...)
	put(t, s, Run(1), all[:40]...)
	put(t, s, Run(2), all[40:]...)
	for _, q := range []table.Query{
		{}, {Run: "bench-002"}, {Run: "none"}, {Measured: true}, {Run: "bench-001", Measured: true, Where: "index < 10"},
		{Where: `label.region == "eu" && ttft_ms > 120`}, {Where: "ttft_ms > 120", Metrics: []string{"chars"}},
		{Where: `never(mark.handoff) || over(ttft)`}, {Where: `stage.prefill == nil`, Metrics: []string{"ttft"}},
		{Where: `scenario == "工具" and outcome != "complete"`}, {Where: `mark.handoff > 200`}, {Where: `start < "2026-03-01T08:00:10"`},
	} {
		want, err := table.Select(all, q)
		if err != nil {
			t.Fatal(err)
		}
		if got := rows(t, s, q); !slices.EqualFunc(got, want, func(a, b table.Row) bool { return reflect.DeepEqual(a.Key, b.Key) }) {
			t.Errorf("%+v: %d rows, want %d", q, len(got), len(want))
		}
	}
	if _, err := store.Rows(t.Context(), s, table.Query{Where: "colour == 1"}); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("a bad filter gave %v", err)
	}
}

func askedMetricsAreThere(t *testing.T, s store.Store) {
	want := Rows("bench-001", 20)
	put(t, s, Run(1), want...)
	asked := []string{"ttft", "complete", "mark.handoff", "stage.prefill", "gap_p95"}
	for i, r := range rows(t, s, table.Query{Metrics: asked}) {
		for _, name := range asked {
			if got := r.Values.Get(name); got != want[i].Values.Get(name) {
				t.Errorf("row %d: %s = %+v, want %+v", i, name, got, want[i].Values.Get(name))
			}
		}
	}
}

func deleteLeavesOthers(t *testing.T, s store.Store) {
	put(t, s, Run(1), Rows("bench-001", 10)...)
	put(t, s, Run(2), Rows("bench-002", 10)...)
	if err := s.DeleteRun(t.Context(), "bench-001"); err != nil {
		t.Fatal(err)
	}
	if got := runs(t, s); len(got) != 1 || got[0].ID != "bench-002" || got[0].Rows != 10 {
		t.Errorf("%+v", got)
	}
	if got := rows(t, s, table.Query{}); len(got) != 10 {
		t.Errorf("%d rows", len(got))
	}
	if err := s.DeleteRun(t.Context(), "bench-001"); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("deleting it again gave %v", err)
	}
}

func rowsNeedTheirRun(t *testing.T, s store.Store) {
	if err := s.Put(t.Context(), "none", Rows("none", 1)); !errors.Is(err, store.ErrNoRun) {
		t.Errorf("rows of no run gave %v", err)
	}
	if got := rows(t, s, table.Query{}); len(got) != 0 {
		t.Errorf("%d rows", len(got))
	}
}

func endedContext(t *testing.T, s store.Store) {
	put(t, s, Run(1), Rows("bench-001", 3)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.PutRun(ctx, Run(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("putting a run gave %v", err)
	}
	if err := s.Put(ctx, "bench-001", Rows("bench-001", 9)); !errors.Is(err, context.Canceled) {
		t.Errorf("putting rows gave %v", err)
	}
	if _, err := store.Rows(ctx, s, table.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("reading gave %v", err)
	}
	if got := rows(t, s, table.Query{}); len(got) != 3 {
		t.Errorf("%d rows afterwards", len(got))
	}
}

func readingMayStop(t *testing.T, s store.Store) {
	put(t, s, Run(1), Rows("bench-001", 300)...)
	for range 20 { // more often than a store may have connections
		for _, err := range s.Rows(t.Context(), table.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		for _, err := range s.Runs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	seen := 0
	for r, err := range s.Rows(t.Context(), table.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; r.Index == 5 {
			put(t, s, Run(2), Rows("bench-002", 5)...)
		}
	}
	if seen < 300 || len(rows(t, s, table.Query{})) != 305 {
		t.Errorf("saw %d rows while writing", seen)
	}
}

func manyWrite(t *testing.T, s store.Store) {
	var all sync.WaitGroup
	errs := make(chan error, 8*6)
	for i := range 8 {
		all.Go(func() {
			r := Run(i)
			errs <- s.PutRun(t.Context(), r)
			for j := range 5 {
				errs <- s.Put(t.Context(), r.ID, Rows(r.ID, 50)[j*10:j*10+10])
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	for _, r := range runs(t, s) {
		if r.Rows != 50 {
			t.Errorf("%s holds %d rows", r.ID, r.Rows)
		}
	}
	if n := len(rows(t, s, table.Query{})); n != 400 {
		t.Errorf("%d rows", n)
	}
}

func writerStoresAll(t *testing.T, s store.Store) {
	put(t, s, Run(1))
	w := store.NewWriter(s, "bench-001", store.WriterOptions{Rows: 7})
	want := Rows("bench-001", 100)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := i; j < len(want); j += 4 {
				if err := w.Write(want[j]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, s, table.Query{}); !reflect.DeepEqual(got, want) {
		t.Errorf("%d rows, or others", len(got))
	}
	if last, err := store.Find(t.Context(), s, store.Last); err != nil || last.Rows != 100 {
		t.Errorf("%+v %v", last, err)
	}
}
