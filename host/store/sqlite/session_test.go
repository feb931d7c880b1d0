package sqlite

import (
	"testing"

	"github.com/tenonhq/tenon/host/store"
)

// A deleted session leaves no row behind but its epoch.
func TestDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	for _, id := range []string{"ses_a", "ses_b"} {
		token := createIn(t, s, id)
		must(t, s.Submit(t.Context(), store.Prompt{ID: "msg_9", SessionID: id}))
		appendTo(t, s, token, store.PutMessage{Message: aMessage(id, 0)}, store.PutPart{Part: aPart(id, 0, "x")},
			store.AppendText{PartID: aPart(id, 0, "").ID, Field: "text", Text: "y"},
			store.PutMessage{Message: aMessage(id, 1)}, store.RemoveMessage{MessageID: aMessage(id, 1).ID},
			store.PutTodos{}, store.PutLedger{}, store.PutBlob{Content: []byte("x")})
	}
	count := func() map[string]int64 {
		rows := map[string]int64{}
		must(t, s.read(t.Context(), func(x *view) {
			for _, table := range []string{"head", "session", "message", "part", "delta", "removed", "todo", "prompt", "ledger", "blob", "blob_session", "search"} {
				rows[table] = x.Number("SELECT count(*) FROM " + table)
			}
			tables := x.Number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search!_%' ESCAPE '!'")
			if int(tables) != len(rows)+3 { // and gone, approval and the sequence of approval
				t.Errorf("the schema has %d tables, the test knows %d", tables, len(rows)+3)
			}
		}))
		return rows
	}
	for table, n := range count() {
		if n == 0 {
			t.Errorf("table %s is empty before the deletion", table)
		}
	}
	must(t, s.Delete(t.Context(), "ses_a"))
	must(t, s.Delete(t.Context(), "ses_b"))
	for table, n := range count() {
		if n != 0 {
			t.Errorf("%d rows of deleted sessions are left in table %s", n, table)
		}
	}
}
