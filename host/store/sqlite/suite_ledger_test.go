package sqlite_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func testTodos(t *testing.T, e *env) {
	token := e.create("ses_a")
	want := func(want []sdk.Todo) {
		t.Helper()
		got, err := e.Todos(t.Context(), "ses_a")
		e.must(err)
		equal(t, "number of tasks", len(got), len(want))
		for i := range want {
			equal(t, "task", got[i], want[i])
		}
	}
	want(nil)
	list := []sdk.Todo{{Content: "b <&>", Status: "pending", Priority: "low"}, {Content: "a", Status: "completed", Priority: "high"}}
	e.change(token, store.PutTodos{Todos: list})
	want(list)
	seq := e.change(token, store.PutTodos{Todos: list[1:]})
	want(list[1:])
	rows := e.rows("ses_a", 1)
	equal(t, "rows", rowNames(rows), []string{"todos ses_a"})
	equal(t, "seq", rows[0].Seq, seq)
	e.change(token, store.PutTodos{})
	want(nil)
	equal(t, "row of an empty list", string(e.rows("ses_a", seq)[0].Data), "[]")
}

func testLedger(t *testing.T, e *env) {
	token, other := e.create("ses_a"), e.create("ses_b")
	entry := func(message string, p sdk.Purpose, n int) store.LedgerRow {
		return store.LedgerRow{MessageID: message, Purpose: p, Entries: json.RawMessage(fmt.Sprintf(`[{"n":%d}]`, n))}
	}
	all := []store.LedgerRow{
		entry("msg_2", sdk.PurposeTurn, 1), entry("msg_1", sdk.PurposeTitle, 2),
		entry("msg_2", sdk.PurposeTurn, 3), entry("msg_2", sdk.PurposeCompaction, 4),
	}
	for _, r := range all {
		e.change(token, store.PutLedger(r))
	}
	e.change(other, store.PutLedger{MessageID: "msg_2", Entries: json.RawMessage("[]")})
	for name, c := range map[string]struct {
		message string
		want    []store.LedgerRow
	}{
		"all":         {"", all},
		"one message": {"msg_2", []store.LedgerRow{all[0], all[2], all[3]}},
		"none":        {"msg_9", nil},
	} {
		gives(e, name, c.want)(e.Ledger(t.Context(), "ses_a", c.message))
	}
}
