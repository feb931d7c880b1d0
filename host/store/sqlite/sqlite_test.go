package sqlite_test

import (
	"database/sql"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// damage replaces the value of a row by data, as a failing disk might. No store is open on it. If data is nil, it removes the row.
func damage(t testing.TB, path string, row store.Damage, data []byte) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables := map[string]struct{ table, column, where string }{
		store.DamagedSession: {"session", "data", "id = ?1"},
		store.DamagedMessage: {"message", "data", "id = ?1"},
		store.DamagedPart:    {"part", "data", "id = ?1"},
		store.DamagedPrompt:  {"prompt", "data", "id = ?1"},
		store.DamagedTodos:   {"todo", "data", "?1 = ''"},
		store.DamagedLedger:  {"ledger", "entries", "message = ?1"},
		store.DamagedBlob:    {"blob", "data", "hash = ?1"},
	}
	at, key := tables[row.Type], row.ID
	if row.Type == store.DamagedLedger {
		key = row.Message
	}
	query, args := "UPDATE "+at.table+" SET "+at.column+" = ?2 WHERE "+at.where, []any{key, string(data)}
	if data == nil {
		query, args = "DELETE FROM "+at.table+" WHERE "+at.where, args[:1]
	}
	result, err := db.ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); n != 1 || err != nil {
		t.Fatalf("%d rows damaged, want 1, %v", n, err)
	}
}
