package sqlite

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/metric"
	"weir/store"
	"weir/store/storetest"
	"weir/table"
)

// older is what metric.All may have been before the metrics of late were added.
func older(late ...string) []metric.Metric {
	return slices.DeleteFunc(slices.Clone(metric.All), func(m metric.Metric) bool { return slices.Contains(late, m.Name) })
}

func without(rows []table.Row, late ...string) []table.Row {
	out := slices.Clone(rows)
	for i, r := range out {
		vals := map[string]metric.Value{}
		for _, name := range r.Values.Names() {
			if !slices.Contains(late, name) {
				vals[name] = r.Values.Get(name)
			}
		}
		out[i].Values = r.Values.With(vals)
	}
	return out
}

func fill(t *testing.T, s *Store, run table.Run, rows []table.Row) {
	t.Helper()
	if err := s.PutRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), run.ID, rows); err != nil {
		t.Fatal(err)
	}
}

func TestMigrationAddsMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	late := []string{"ttft", "gap_max", "lag_max"}
	want := without(storetest.Rows("bench-001", 30), late...)
	old, err := open(t.Context(), Options{Path: path}, older(late...))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, old, storetest.Run(1), want)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	reader, err := Open(t.Context(), Options{Path: path, ReadOnly: true}) // reading does not migrate
	if err != nil {
		t.Fatal(err)
	}
	if got, err := store.Rows(t.Context(), reader, table.Query{}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read before the migration: %d rows, %v", len(got), err)
	}
	reader.Close()

	s := openAt(t, path)
	defer s.Close()
	second := storetest.Rows("bench-002", 30)
	fill(t, s, storetest.Run(2), second)
	if got, err := store.Rows(t.Context(), s, table.Query{}); err != nil || !reflect.DeepEqual(got, append(want, second...)) {
		t.Errorf("after the migration: %d rows, %v", len(got), err)
	}
	id, err := identify(t.Context(), s.r)
	if err != nil || !id.current(metric.All) || len(id.columns) != len(definitions(metric.All)) {
		t.Errorf("%+v %v", id, err)
	}
}

// An older weir may go on writing a file that a newer one has migrated.
func TestOlderWriterAfterMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openAt(t, path)
	defer s.Close()
	old, err := open(t.Context(), Options{Path: path}, older("ttft"))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	want := without(storetest.Rows("bench-001", 10), "ttft")
	fill(t, old, storetest.Run(1), want)
	if got, err := store.Rows(t.Context(), s, table.Query{}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

func TestRefusedFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, fill func(path string)) string {
		path := filepath.Join(dir, name)
		fill(path)
		return path
	}
	execute := func(statements ...string) func(string) {
		return func(path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, s := range statements {
				if _, err := db.Exec(s); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for path, want := range map[string]string{
		file("newer.db", func(p string) {
			openAt(t, p).Close()
			execute("PRAGMA user_version = 2")(p)
		}): "newer weir (schema 2, this one knows 1)",
		file("other.db", execute("CREATE TABLE bookmarks (url TEXT)")):                       "another program",
		file("text.db", func(p string) { write(t, p, strings.Repeat("no database ", 100)) }): "no SQLite database",
		file("damaged.db", func(p string) { damage(t, p) }):                                  "damaged",
		dir:                                   "is a directory",
		filepath.Join(dir, "none", "weir.db"): "cannot be made",
	} {
		before, _ := os.ReadFile(path)
		for _, readOnly := range []bool{false, true} {
			s, err := Open(t.Context(), Options{Path: path, ReadOnly: readOnly})
			if err == nil { // damage may lie deeper
				_, err = store.Rows(t.Context(), s, table.Query{})
				s.Close()
			}
			if readOnly && strings.Contains(path, "none") {
				want = "there is no"
			}
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("%s, read only %v: %v, want %q", path, readOnly, err, want)
			}
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s was changed", path)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// damage overwrites the middle of a full database.
func damage(t *testing.T, path string) {
	t.Helper()
	s := openAt(t, path)
	fill(t, s, storetest.Run(1), storetest.Rows("bench-001", 300))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) / 8; i < len(b); i++ {
		b[i] = 0xa5
	}
	write(t, path, string(b))
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "we?ir #1%20.db") // a name that is no URL
	if _, err := Open(t.Context(), Options{Path: path, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "--db") {
		t.Errorf("a file that is not there gave %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("reading made a file")
	}
	write(t, path, "")
	if _, err := Open(t.Context(), Options{Path: path, ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty file gave %v", err)
	}
	s := openAt(t, path) // and is made a database of
	fill(t, s, storetest.Run(1), storetest.Rows("bench-001", 5))
	r, err := Open(t.Context(), Options{Path: path, ReadOnly: true}) // while it is written
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		r.PutRun(t.Context(), storetest.Run(2)), r.Put(t.Context(), "bench-001", nil), r.DeleteRun(t.Context(), "bench-001"),
	} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("writing gave %v", err)
		}
	}
	s.Close()
	if got, err := store.Rows(t.Context(), r, table.Query{}); err != nil || len(got) != 5 {
		t.Errorf("%d rows, %v", len(got), err)
	}
	r.Close()
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the directory holds %v", entries)
	}
}

// What a reader without any permission to write falls back to.
func TestReadImmutable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openAt(t, path)
	fill(t, s, storetest.Run(1), storetest.Rows("bench-001", 5))
	s.Close()
	r := &Store{path: path, wait: time.Second, all: metric.All}
	if err := r.read(t.Context(), url.Values{"mode": {"ro"}, "immutable": {"1"}}); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := store.Rows(t.Context(), r, table.Query{}); err != nil || len(got) != 5 {
		t.Errorf("%d rows, %v", len(got), err)
	}
	if _, err := r.r.ExecContext(t.Context(), "DELETE FROM rows"); err == nil {
		t.Error("it could be written to")
	}
}

func TestNoColumnTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range definitions(metric.All) {
		if seen[strings.ToLower(c.name)] { // SQLite knows no case
			t.Errorf("the column %s is there twice", c.name)
		}
		seen[strings.ToLower(c.name)] = true
	}
}
