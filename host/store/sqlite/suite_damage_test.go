package sqlite_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// output is stored apart from the call that made it.
var output = []byte(strings.Repeat("a line of output\n", 1000))

// fill stores a session with a row of every type, and another one beside it.
func fill(e *env) {
	e.Helper()
	a, b := e.create("ses_a"), e.create("ses_b")
	first, second, third := user("ses_a", "msg_1"), assistant("ses_a", "msg_2"), user("ses_a", "msg_3")
	second.Time.Completed = 3
	call := &sdk.ToolPart{PartHead: head(second, "prt_3"), CallID: "call_1", Tool: "bash", State: sdk.ToolState{
		Status: sdk.ToolCompleted, Input: json.RawMessage(`{}`), Output: "a line", Title: "t",
		Metadata: sdk.Object{"outputPath": store.OutputPrefix + store.Hash(output)}, Time: sdk.ToolTime{Start: 1, End: 2},
	}}
	e.change(a, put(first, text(first, "prt_1", "first question"), text(first, "prt_2", "attached"))...)
	e.change(a, store.PutBlob{Content: output})
	e.change(a, put(second, call, &sdk.TextPart{PartHead: head(second, "prt_4"), Text: "answer", Time: &sdk.PartTime{Start: 1, End: 2}})...)
	e.change(a, put(third, text(third, "prt_5", "second question"))...)
	e.change(a, store.PutTodos{Todos: []sdk.Todo{{Content: "task", Status: "pending", Priority: "low"}}})
	e.change(a, store.PutLedger{MessageID: "msg_2", Purpose: sdk.PurposeTurn, Entries: json.RawMessage(`[{"n":1}]`)})
	e.change(a, store.PutLedger{MessageID: "msg_3", Purpose: sdk.PurposeTurn, Entries: json.RawMessage(`[{"n":2}]`)})
	e.must(e.Submit(e.Context(), store.Prompt{ID: "msg_9", SessionID: "ses_a", Data: json.RawMessage(`{"text":"later"}`)}))
	other := user("ses_b", "msg_b")
	e.change(b, put(other, text(other, "prt_b", "of another session"))...)
	e.must(e.Release(e.Context(), a))
	e.must(e.Release(e.Context(), b))
}

// damageCase is a row, what it is replaced by, and what must be left of the conversation.
type damageCase struct {
	row  store.Damage
	data []byte // nil: the row is removed
	want []string
}

// The conversation of fill: each message with its parts.
const (
	wholeFirst  = "user msg_1: prt_1 prt_2"
	wholeSecond = "assistant msg_2: prt_3 prt_4"
	wholeThird  = "user msg_3: prt_5"
)

func damageCases() map[string]damageCase {
	row := func(kind, message, id string) store.Damage {
		return store.Damage{Type: kind, Session: "ses_a", Message: message, ID: id}
	}
	whole := []string{wholeFirst, wholeSecond, wholeThird}
	part := row(store.DamagedPart, "msg_1", "prt_1")
	withoutPart := []string{"user msg_1: prt_2", wholeSecond, wholeThird}
	blob := row(store.DamagedBlob, "msg_2", store.Hash(output))
	return map[string]damageCase{
		"part cut off":             {part, []byte(`{"id":"prt_1","sessionID":"ses_a","messageID":"msg_1","type":"text","te`), withoutPart},
		"part with a control byte": {part, []byte("{\"id\":\"prt_1\",\"sessionID\":\"ses_a\",\"messageID\":\"msg_1\",\"type\":\"text\",\"text\":\"a\x02\"}"), withoutPart},
		"part of another type":     {part, []byte(`[7]`), withoutPart},
		"part that is empty":       {part, []byte{}, withoutPart},
		"part with a wrong field":  {part, []byte(`{"id":"prt_1","sessionID":"ses_a","messageID":"msg_1","type":"text","text":7}`), withoutPart},
		"part of another message":  {part, []byte(`{"id":"prt_1","sessionID":"ses_a","messageID":"msg_2","type":"text","text":"x"}`), withoutPart},
		"part of another session":  {part, []byte(`{"id":"prt_1","sessionID":"ses_b","messageID":"msg_1","type":"text","text":"x"}`), withoutPart},
		"part with another name":   {part, []byte(`{"id":"prt_2","sessionID":"ses_a","messageID":"msg_1","type":"text","text":"x"}`), withoutPart},
		"tool call": {row(store.DamagedPart, "msg_2", "prt_3"), []byte("\x00\xff"),
			[]string{wholeFirst, "assistant msg_2: prt_4", wholeThird}},
		"only part of its message": {row(store.DamagedPart, "msg_3", "prt_5"), []byte("{"), []string{wholeFirst, wholeSecond, "user msg_3:"}},
		"message of the user":      {row(store.DamagedMessage, "", "msg_1"), []byte(`{"id":"msg_1"`), whole},
		"message of the model":     {row(store.DamagedMessage, "", "msg_2"), []byte(`"text"`), whole},
		"message that is missing":  {row(store.DamagedMessage, "", "msg_3"), nil, whole},
		"session":                  {row(store.DamagedSession, "", "ses_a"), []byte(`{"id":"ses_a","title":}`), whole},
		"session of another name":  {row(store.DamagedSession, "", "ses_a"), []byte(`{"id":"ses_x"}`), whole},
		"tasks":                    {row(store.DamagedTodos, "", ""), []byte(`{}`), whole},
		"ledger":                   {row(store.DamagedLedger, "msg_2", ""), []byte(`[{"n":1`), whole},
		"prompt":                   {row(store.DamagedPrompt, "", "msg_9"), []byte(`{`), whole},
		"output":                   {blob, []byte("no frame"), whole},
		"output that is missing":   {blob, nil, whole},
	}
}

// testDamage damages one row in many ways. Everything else comes back, the row is named, and repairing sets it aside.
func testDamage(t *testing.T, e *env) {
	for name, c := range damageCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := (&env{T: t, dir: t.TempDir()}).open()
			fill(e)
			before := e.conversation()
			e.must(e.Check(t.Context(), ""))
			e.must(e.Close())
			damage(t, e.path(), c.row, c.data)
			e = e.open()
			e.wantDamaged(&c)
			if d, other := e.conversation(), "ses_b"; !slices.Equal(d, c.want) || e.messagesOf(other) != "user msg_b: prt_b" {
				t.Fatalf("conversation = %q, want %q", d, c.want)
			}
			e.wantRepair(&c)
			after := e.conversation()
			equal(t, "conversation after repair", after, c.want)
			if slices.Equal(before, c.want) {
				equal(t, "what is left", after, before)
			}
			e.goOn()
		})
	}
}

// conversation reads ses_a, without what is damaged.
func (e *env) conversation() []string {
	e.Helper()
	return strings.Split(e.messagesOf("ses_a"), "\n")
}

func (e *env) messagesOf(session string) string {
	e.Helper()
	list, err := e.Messages(e.Context(), session, store.Page{})
	e.must(failure(store.Readable(err)))
	var out []string
	for _, m := range list {
		line := m.Info.Role() + " " + m.Info.Head().ID + ":"
		for _, p := range m.Parts {
			line += " " + p.Head().ID
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// wantDamaged checks that the row is named, wherever it is read and by Check, and no other one.
func (e *env) wantDamaged(c *damageCase) {
	e.Helper()
	ctx := e.Context()
	named := func(what string, err error) {
		e.Helper()
		rows, err := store.Readable(err)
		e.must(err)
		for i := range rows {
			rows[i].Problem = ""
		}
		want := []store.Damage{c.row}
		if c.row.Type == store.DamagedTodos && len(rows) == 1 {
			rows[0].ID = ""
		}
		equal(e.T, "damage found by "+what, rows, want)
	}
	wantErr(e.T, "Check", e.Check(ctx, ""), store.ErrCorrupt)
	named("Check of all", e.Check(ctx, ""))
	named("Check of the session", e.Check(ctx, "ses_a"))
	e.must(e.Check(ctx, "ses_b"))
	switch c.row.Type {
	case store.DamagedPart, store.DamagedMessage:
		_, err := e.Messages(ctx, "ses_a", store.Page{})
		named("Messages", err)
		_, err = e.Search(ctx, store.SearchQuery{Words: []string{"question"}})
		e.must(failure(store.Readable(err)))
	case store.DamagedSession:
		s, seq, err := e.Session(ctx, "ses_a")
		named("Session", err)
		if s.ID != "ses_a" || s.Directory != "/src" || s.Title != "Title of ses_a" || s.Time.Created != 1000 || seq == 0 {
			e.Fatalf("in place of the damaged session: %+v, seq %d", s, seq)
		}
		list, err := e.Sessions(ctx, store.Query{})
		named("Sessions", err)
		equal(e.T, "number of sessions", len(list), 2)
		listed, err := e.List(ctx, store.Query{})
		e.must(failure(store.Readable(err)))
		equal(e.T, "number of listed sessions", len(listed), 2)
	case store.DamagedTodos:
		_, err := e.Todos(ctx, "ses_a")
		named("Todos", err)
	case store.DamagedLedger:
		list, err := e.Ledger(ctx, "ses_a", "")
		named("Ledger", err)
		equal(e.T, "other ledger entries", len(list), 1)
	case store.DamagedBlob:
		_, err := e.Blob(ctx, c.row.ID)
		if c.data == nil && !errors.Is(err, store.ErrNotFound) || c.data != nil && !errors.Is(err, store.ErrCorrupt) {
			e.Fatalf("Blob = %v", err)
		}
	}
}

// wantRepair checks that a repair hands the row out as it was, and that it is all or nothing.
func (e *env) wantRepair(c *damageCase) {
	e.Helper()
	ctx := e.Context()
	var kept []store.Aside
	full := errors.New("no room")
	err := e.Repair(ctx, "ses_a", func(list []store.Aside) error { kept = list; return full })
	wantErr(e.T, "Repair that cannot keep", err, full)
	e.wantDamaged(c)
	e.must(e.Repair(ctx, "ses_a", func(list []store.Aside) error { kept = list; return nil }))
	if len(kept) != 1 || kept[0].Type != c.row.Type || c.row.ID != "" && kept[0].ID != c.row.ID || kept[0].Problem == "" || string(kept[0].Data) != string(c.data) {
		e.Fatalf("kept %+v, want %+v with %q", kept, c.row, c.data)
	}
	e.must(e.Check(ctx, ""))
	e.must(e.Repair(ctx, "ses_a", func([]store.Aside) error { e.Error("a sound session is repaired"); return nil }))
	wantErr(e.T, "Repair of no session", e.Repair(ctx, "ses_nope", nil), store.ErrNotFound)
	e.must(failure(e.Messages(ctx, "ses_a", store.Page{})))
	_, _, err = e.Session(ctx, "ses_a")
	e.must(err)
	e.must(failure(e.Sessions(ctx, store.Query{})))
}

// goOn checks that the session can be continued.
func (e *env) goOn() {
	e.Helper()
	token := e.claim("ses_a")
	m := user("ses_a", "msg_7")
	e.change(token, put(m, text(m, "prt_7", "and then"))...)
	e.change(token, store.PutBlob{Content: output})
	e.wantBlob(output, true)
	other := e.open()
	ownerOf(e.T, "Repair of a session in use", other.Repair(e.Context(), "ses_a", func([]store.Aside) error { return nil }))
	equal(e.T, "message after a repair", e.conversation()[3:], []string{"user msg_7: prt_7"})
}
