package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/store"
	"weir/store/storetest"
	"weir/table"
)

// childVar makes this test binary the writer of another process.
const childVar = "WEIR_SQLITE_WRITES"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVar); path != "" {
		if err := writeAsChild(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestFullDisk: what cannot be stored is said, what was stored stays, and once
// there is room the same rows can be stored.
func TestFullDisk(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "weir.db"))
	defer s.Close()
	first := storetest.Rows("bench-001", 20)
	fill(t, s, storetest.Run(1), first)
	limit := func(pages string) {
		if _, err := s.w.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("1") // SQLite makes it the present size
	w := store.NewWriter(s, "bench-001", store.WriterOptions{})
	all := storetest.Rows("bench-001", 400)
	w.Write(all...)
	err := w.Close()
	if err == nil || !strings.Contains(err.Error(), "400 rows were not stored") || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("a full disk gave %v", err)
	}
	if got, err := store.Rows(t.Context(), s, table.Query{}); err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("%d rows, %v", len(got), err)
	}
	limit("1000000")
	if err := s.Put(t.Context(), "bench-001", all); err != nil {
		t.Error(err)
	}
}

func TestLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	a := openAt(t, path)
	defer a.Close()
	tx, err := a.w.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	b, err := Open(t.Context(), Options{Path: path, Wait: 50 * time.Millisecond}) // needs no lock: nothing is to migrate
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.PutRun(t.Context(), storetest.Run(1)); err == nil || !strings.Contains(err.Error(), "another process kept it locked for 50ms") {
		t.Errorf("a locked file gave %v", err)
	}
	for _, err := range b.Runs(t.Context()) { // readers do not wait
		t.Error(err)
	}
}

// TestDeletedSpaceIsGivenBack deletes the larger of two runs.
func TestDeletedSpaceIsGivenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openAt(t, path)
	fill(t, s, storetest.Run(1), storetest.Rows("bench-001", 2000))
	fill(t, s, storetest.Run(2), storetest.Rows("bench-002", 10))
	s.Close()
	before, _ := os.Stat(path)
	s = openAt(t, path)
	if err := s.DeleteRun(t.Context(), "bench-001"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Stat(path)
	if after.Size() > before.Size()/4 {
		t.Errorf("%d bytes before, %d after", before.Size(), after.Size())
	}
}

const children = 3

// TestProcesses lets processes make the file and write to it at once; one is
// killed at some moment and must leave what it had stored, whole.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	var running []*exec.Cmd
	var outputs [children + 1]strings.Builder
	for i := range children + 1 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childVar+"="+path, fmt.Sprint("WEIR_SQLITE_CHILD=", i))
		cmd.Stdout = &outputs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for end := time.Now().Add(time.Minute); ; {
		if time.Now().After(end) {
			t.Fatalf("no row of child-3 came: %s", outputs[children].String())
		}
		if s, err := Open(t.Context(), Options{Path: path, ReadOnly: true}); err == nil {
			last, err := store.Find(t.Context(), s, "child-3")
			s.Close()
			if err == nil && last.Rows > 0 {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
	running[children].Process.Kill()
	running[children].Wait()
	for i, cmd := range running[:children] {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, outputs[i].String())
		}
	}
	s := openAt(t, path)
	defer s.Close()
	for r, err := range s.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if whole := r.Rows == 400; r.Rows%20 != 0 || !whole && r.ID != "child-3" {
			t.Errorf("%s holds %d rows", r.ID, r.Rows)
		}
	}
	var verdict string
	if err := s.r.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("%s %v", verdict, err)
	}
}

func writeAsChild(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: path, Wait: 30 * time.Second})
	if err != nil {
		return err
	}
	r := storetest.Run(1)
	r.ID = "child-" + os.Getenv("WEIR_SQLITE_CHILD")
	if err := s.PutRun(ctx, r); err != nil {
		return err
	}
	rows := storetest.Rows(r.ID, 400)
	for i := 0; i < len(rows); i += 20 {
		if err := s.Put(ctx, r.ID, rows[i:i+20]); err != nil {
			return err
		}
	}
	return s.Close()
}
