package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/table"
)

// fake is a store of runs that notes what is put into it.
type fake struct {
	runs []table.Run
	err  error         // what Put and Runs give
	slow time.Duration // how long Put takes

	mu      sync.Mutex
	batches []string // "N@when"
	began   time.Time
	stored  int
}

func (f *fake) PutRun(_ context.Context, r table.Run) error {
	i := slices.IndexFunc(f.runs, func(have table.Run) bool { return have.ID == r.ID })
	f.runs[i] = r
	return nil
}

func (f *fake) Runs(context.Context) iter.Seq2[table.Run, error] {
	return func(yield func(table.Run, error) bool) {
		if f.err != nil {
			yield(table.Run{}, f.err)
			return
		}
		for _, r := range f.runs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (f *fake) Put(_ context.Context, run string, rows []table.Row) error {
	time.Sleep(f.slow)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, fmt.Sprintf("%d@%s", len(rows), time.Since(f.began)))
	if f.err != nil {
		return f.err
	}
	f.stored += len(rows)
	return nil
}

func (f *fake) DeleteRun(context.Context, string) error { return f.err }

func (f *fake) Rows(context.Context, table.Query) iter.Seq2[table.Row, error] {
	return func(yield func(table.Row, error) bool) {
		_ = yield(table.Row{}, nil) && yield(table.Row{}, f.err)
	}
}

func (f *fake) Close() error { return nil }

func TestFind(t *testing.T) {
	f := &fake{runs: []table.Run{
		{ID: "bench-1", Tags: []string{"base"}}, {ID: "bench-10", Tags: []string{"base", "v2"}}, {ID: "probe-7"}, {ID: "v2x"}, {ID: "last-but-one"},
	}}
	for ref, want := range map[string]string{
		"bench-1": "bench-1", "bench-10": "bench-10", "last": "last-but-one", "base": "bench-10", "v2": "bench-10", "p": "probe-7",
	} {
		if got, err := Find(t.Context(), f, ref); err != nil || got.ID != want {
			t.Errorf("%s: %q %v, want %q", ref, got.ID, err, want)
		}
	}
	if _, err := Find(t.Context(), f, "ben"); err == nil || !strings.Contains(err.Error(), "2 runs (bench-1, bench-10)") || errors.Is(err, ErrNoRun) {
		t.Errorf("an ambiguous beginning gave %v", err)
	}
	for _, ref := range []string{"", "none", "ench"} {
		if _, err := Find(t.Context(), f, ref); !errors.Is(err, ErrNoRun) {
			t.Errorf("%q gave %v", ref, err)
		}
	}
	if _, err := Find(t.Context(), &fake{}, "last"); !errors.Is(err, ErrNoRun) {
		t.Errorf("last of none gave %v", err)
	}
	if got, err := Tagged(t.Context(), f, "base"); err != nil || len(got) != 2 || got[0].ID != "bench-1" {
		t.Errorf("%v %v", got, err)
	}
	if _, err := Tagged(t.Context(), f, "none"); !errors.Is(err, ErrNoRun) {
		t.Errorf("an unknown tag gave %v", err)
	}
}

func TestBrokenStore(t *testing.T) {
	f := &fake{err: errors.New("broken")}
	_, find := Find(t.Context(), f, "x")
	_, tagged := Tagged(t.Context(), f, "x")
	_, tag := Tag(t.Context(), f, "x", nil, nil)
	rows, err := Rows(t.Context(), f, table.Query{})
	for _, err := range []error{find, tagged, tag, err} {
		if !errors.Is(err, f.err) {
			t.Errorf("%v", err)
		}
	}
	if rows != nil {
		t.Errorf("%d rows came with an error", len(rows))
	}
}

func TestTag(t *testing.T) {
	f := &fake{runs: []table.Run{{ID: "a"}}}
	for _, c := range []struct {
		add, remove []string
		want        string
	}{{[]string{"v2", "基线", "v2"}, nil, "[v2 基线]"}, {[]string{"x"}, []string{"v2", "other"}, "[x 基线]"}, {nil, []string{"x", "基线"}, "[]"}} {
		got, err := Tag(t.Context(), f, "a", c.add, c.remove)
		if err != nil || fmt.Sprint(got.Tags) != c.want || fmt.Sprint(f.runs[0].Tags) != c.want || f.runs[0].Tags == nil {
			t.Errorf("%v: %v %v", c, got.Tags, err)
		}
	}
	for _, bad := range []string{"", "last", "a b", "-x", strings.Repeat("x", 65), "a\n"} {
		if _, err := Tag(t.Context(), f, "a", []string{bad}, nil); err == nil {
			t.Errorf("the tag %q was taken", bad)
		}
	}
	if _, err := Tag(t.Context(), f, "b", nil, nil); !errors.Is(err, ErrNoRun) {
		t.Errorf("%v", err)
	}
}

func TestWriterBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{began: time.Now()}
		w := NewWriter(f, "a", WriterOptions{})
		w.Write(make([]table.Row, 450)...) // two full batches at once, the rest when its time is up
		time.Sleep(time.Second)
		w.Write(make([]table.Row, 3)...)
		time.Sleep(200 * time.Millisecond)
		w.Write(make([]table.Row, 2)...) // joins those that wait
		time.Sleep(time.Second)
		w.Write(make([]table.Row, 1)...)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(f.batches, " "), "200@0s 200@0s 50@250ms 5@1.25s 1@2.2s"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestWriterWaitsForASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{began: time.Now(), slow: time.Second}
		w := NewWriter(f, "a", WriterOptions{Rows: 10, Queue: 10})
		w.Write(make([]table.Row, 100)...)
		if waited := time.Since(f.began); waited < 7*time.Second {
			t.Errorf("100 rows were taken in %s", waited)
		}
		if err := w.Close(); err != nil || f.stored != 100 {
			t.Errorf("%d rows, %v", f.stored, err)
		}
	})
}

func TestWriterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{began: time.Now(), err: errors.New("broken")}
		w := NewWriter(f, "a", WriterOptions{Rows: 10})
		if err := w.Write(make([]table.Row, 20)...); err != nil && !errors.Is(err, f.err) {
			t.Error(err)
		}
		synctest.Wait()
		f.mu.Lock()
		f.err = nil // it works again: what comes is stored
		f.mu.Unlock()
		if err := w.Write(make([]table.Row, 5)...); err == nil || err.Error() != "broken" {
			t.Errorf("later rows are told %v", err)
		}
		err := w.Close()
		if err == nil || !strings.Contains(err.Error(), "run a: 20 rows were not stored: broken") || f.stored != 5 {
			t.Errorf("%v, stored %d", err, f.stored)
		}
		if err := w.Write(table.Row{}); err == nil {
			t.Error("a row after the end was taken")
		}
		if err := w.Close(); err == nil {
			t.Error("closing twice gave no error")
		}
	})
}
