package eventlog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/stream"
)

func TestWriterFilesByDay(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir, Options{})
	a, b, c := sample("a"), sample("b"), sample("c")
	b.Start = a.Start.Add(24 * time.Hour)
	c.Start = time.Time{}
	put(t, w, a, b, c)
	want := []string{"events/2026-03-01/run7.jsonl", "events/2026-03-02/run7.jsonl", "events/undated/run7.jsonl"}
	for i, p := range w.Paths() {
		if rel, _ := filepath.Rel(dir, p); rel != want[i] {
			t.Errorf("file %d is %s, want %s", i, rel, want[i])
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if l := readFile(t, w.Paths()[1]); len(l.Records) != 1 || l.Records[0].RequestID != "b" {
		t.Errorf("second day holds %d records", len(l.Records))
	}
	if err := w.Put(context.Background(), a); err == nil {
		t.Error("a closed writer took a record")
	}
}

func TestConcurrentRecordsStandTogether(t *testing.T) {
	for _, o := range []Options{{}, {Zstd: true}} {
		w := writer(t, t.TempDir(), o)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				if err := w.Put(context.Background(), sample(fmt.Sprint("req_", i))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		l := readFile(t, w.Paths()[0])
		if len(l.Records) != 50 || l.Torn || len(l.Warnings) > 0 {
			t.Fatalf("%+v: %d records, torn %v, %q", o, len(l.Records), l.Torn, l.Warnings)
		}
		for _, r := range l.Records {
			if len(r.Events) != 4 || r.Outcome != stream.Complete {
				t.Errorf("%s: %d events, %q", r.RequestID, len(r.Events), r.Outcome)
			}
		}
	}
}

func TestAppendingAfterACrash(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir, Options{})
	put(t, w, sample("a"), sample("b"))
	path := w.Paths()[0]
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-20); err != nil { // the crash
		t.Fatal(err)
	}
	w = writer(t, dir, Options{})
	put(t, w, sample("c"), sample("d"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l := readFile(t, path)
	var got []string
	for _, r := range l.Records {
		got = append(got, r.RequestID+":"+string(r.Outcome))
	}
	if s := strings.Join(got, " "); s != "a:complete c:complete d:complete b:" {
		t.Errorf("records %q", s)
	}
	if !l.Torn || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "run7.jsonl:12: the line is cut short") {
		t.Errorf("torn %v, warnings %q", l.Torn, l.Warnings)
	}
}

func TestTruncatedZstdGivesWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir, Options{Zstd: true})
	for i := range 200 {
		put(t, w, sample(fmt.Sprint("req_", i)))
	}
	path := w.Paths()[0]
	if l := readFile(t, path); len(l.Records) != 200 || !l.Torn { // still open: no frame end
		t.Errorf("an open log gave %d records, torn %v; want 200 and true", len(l.Records), l.Torn)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if l := readFile(t, path); len(l.Records) != 200 || l.Torn {
		t.Errorf("a closed log gave %d records, torn %v", len(l.Records), l.Torn)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range []float64{0.25, 0.5, 0.75, 0.99} {
		cut := filepath.Join(dir, "cut.jsonl.zst")
		if err := os.WriteFile(cut, data[:int(share*float64(len(data)))], 0o600); err != nil {
			t.Fatal(err)
		}
		l := readFile(t, cut)
		if n := float64(len(l.Records)); !l.Torn || n < 120*share {
			t.Errorf("%.0f %% of the file gave %v of 200 records, torn %v", 100*share, n, l.Torn)
		}
	}
	again := writer(t, dir, Options{Zstd: true})
	put(t, again, sample("z"))
	if p := filepath.Base(again.Paths()[0]); p != "run7.2.jsonl.zst" {
		t.Errorf("a second writer of the run uses %s", p)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestKeptTextIsForItsOwnerOnly(t *testing.T) {
	w := writer(t, t.TempDir(), Options{KeepText: true})
	r := sample("a")
	r.TextKept = true
	put(t, w, r)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(w.Paths()[0])
	if err != nil {
		t.Fatal(err)
	}
	if m := info.Mode().Perm(); m != 0o600 {
		t.Errorf("mode %v, want 0600", m)
	}
	if l := readFile(t, w.Paths()[0]); l.Records[0].Events[2].Text != "你好" {
		t.Errorf("text %q", l.Records[0].Events[2].Text)
	}
}

func TestRunNameMustBeAFileName(t *testing.T) {
	for _, run := range []string{"", ".", "..", "a/b", "../x", `a\b`, ".hidden", "a\x00"} {
		if _, err := NewWriter(t.TempDir(), run, Options{}); err == nil {
			t.Errorf("run name %q was taken", run)
		}
	}
}

func writer(t *testing.T, dir string, o Options) *Writer {
	t.Helper()
	w, err := NewWriter(dir, "run7", o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func put(t *testing.T, w *Writer, rs ...*stream.Record) {
	t.Helper()
	for _, r := range rs {
		if err := w.Put(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func readFile(t *testing.T, path string) *Log {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Read(f, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
