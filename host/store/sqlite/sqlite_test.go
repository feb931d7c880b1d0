package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/host/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Suite{Open: func(t *testing.T, dir string) store.Store { return open(t, filepath.Join(dir, "tenon.db")) }}.Run(t)
}

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
