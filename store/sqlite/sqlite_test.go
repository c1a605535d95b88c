package sqlite

import (
	"path/filepath"
	"testing"

	"weir/store"
	"weir/store/storetest"
)

func TestSuite(t *testing.T) {
	storetest.Suite(t, func(t *testing.T) store.Store { return openAt(t, filepath.Join(t.TempDir(), "weir.db")) })
}

func openAt(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
