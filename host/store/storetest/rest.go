package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// waiting returns the identifiers of the prompts that wait.
func (e *env) waiting(session string) []string {
	e.Helper()
	ps, err := e.Prompts(e.Context(), session)
	e.must(err)
	out := []string{}
	for _, p := range ps {
		out = append(out, p.ID+" "+string(p.Data))
	}
	return out
}

func prompt(session, id, data string) store.Prompt {
	return store.Prompt{ID: id, SessionID: session, Data: json.RawMessage(data)}
}

func testPrompts(t *testing.T, e *env) {
	e.create("ses_a")
	e.create("ses_b")
	other := e.open() // any node may submit
	e.must(other.Submit(t.Context(), prompt("ses_a", "msg_z", `{"n":1}`)))
	e.must(e.Submit(t.Context(), prompt("ses_a", "msg_a", `{"n":2}`)))
	e.must(e.Submit(t.Context(), prompt("ses_a", "msg_z", `{"n":3}`)))
	e.must(e.Submit(t.Context(), prompt("ses_b", "msg_z", `{"n":4}`)))
	e.must(e.Submit(t.Context(), prompt("ses_a", "msg_m", `{"n":5}`)))
	equal(t, "prompts", e.waiting("ses_a"), []string{`msg_z {"n":1}`, `msg_a {"n":2}`, `msg_m {"n":5}`})
	equal(t, "prompts of the other", e.waiting("ses_b"), []string{`msg_z {"n":4}`})
	equal(t, "seq", len(e.rows("ses_a", 1)), 0)
	e.reopen()
	equal(t, "prompts, opened again", e.waiting("ses_a"), []string{`msg_z {"n":1}`, `msg_a {"n":2}`, `msg_m {"n":5}`})
	if err := e.Submit(t.Context(), prompt("ses_x", "msg_1", "{}")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Submit to an unknown session = %v, want ErrNotFound", err)
	}
}

// A prompt leaves the queue together with the message it became, and never comes back.
func testPromptTaken(t *testing.T, e *env) {
	token := e.create("ses_a")
	for _, id := range []string{"msg_1", "msg_2", "msg_3"} {
		e.must(e.Submit(t.Context(), prompt("ses_a", id, "{}")))
	}
	e.change(token, store.TakePrompt{PromptID: "msg_1"}, store.PutMessage{Message: user("ses_a", "msg_1")})
	equal(t, "prompts", e.waiting("ses_a"), []string{"msg_2 {}", "msg_3 {}"})
	again := []store.Op{store.PutMessage{Message: assistant("ses_a", "msg_9")}, store.TakePrompt{PromptID: "msg_1"}}
	if _, err := e.Append(t.Context(), token, again); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("prompt taken twice = %v, want ErrNotFound", err)
	}
	equal(t, "messages", len(e.read("ses_a", store.Page{})), 1)
	e.must(e.Submit(t.Context(), prompt("ses_a", "msg_1", "{}")))
	equal(t, "prompts after one was submitted again", e.waiting("ses_a"), []string{"msg_2 {}", "msg_3 {}"})
	e.change(token, store.TakePrompt{PromptID: "msg_3"})
	e.must(e.Submit(t.Context(), prompt("ses_a", "msg_0", "{}")))
	equal(t, "prompts, one taken out of turn", e.waiting("ses_a"), []string{"msg_2 {}", "msg_0 {}"})
}

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
		e.change(token, store.PutLedger{MessageID: r.MessageID, Purpose: r.Purpose, Entries: r.Entries})
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
		got, err := e.Ledger(t.Context(), "ses_a", c.message)
		e.must(err)
		equal(t, name, got, c.want)
	}
}

// wantBlob fails unless the content is there, or, when it must be gone, is not.
func (e *env) wantBlob(content []byte, there bool) {
	e.Helper()
	got, err := e.Blob(e.Context(), store.Hash(content))
	if !there {
		if !errors.Is(err, store.ErrNotFound) {
			e.Fatalf("Blob = %d bytes, %v; want ErrNotFound", len(got), err)
		}
		return
	}
	e.must(err)
	if !bytes.Equal(got, content) {
		e.Fatalf("Blob = %d bytes, want the %d that were put", len(got), len(content))
	}
}

func testBlobs(t *testing.T, e *env) {
	token := e.create("ses_a")
	contents := [][]byte{
		nil,
		[]byte("x"),
		bytes.Repeat([]byte("line of output\n"), 100_000),
		random(3 << 20),
	}
	for _, content := range contents {
		e.wantBlob(content, false)
		e.change(token, store.PutBlob{Content: content}, store.PutBlob{Content: content})
		e.change(token, store.PutBlob{Content: content})
	}
	equal(t, "seq", e.change(token), uint64(1))
	e.reopen()
	for _, content := range contents {
		e.wantBlob(content, true)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got, err := e.Blob(t.Context(), store.Hash(contents[2])); err != nil || !bytes.Equal(got, contents[2]) {
				t.Errorf("Blob = %d bytes, %v", len(got), err)
			}
		})
	}
	group.Wait()
}

// random returns bytes that no compressor can shrink much, the same ones every time.
func random(n int) []byte {
	out := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}

func testBlobsDeleted(t *testing.T, e *env) {
	a, b := e.create("ses_a"), e.create("ses_b")
	shared, own := []byte("shared output"), []byte("own output")
	e.change(a, store.PutBlob{Content: shared}, store.PutBlob{Content: own})
	e.change(b, store.PutBlob{Content: shared})
	e.must(e.Delete(t.Context(), "ses_a"))
	e.wantBlob(own, false)
	e.wantBlob(shared, true)
	e.must(e.Delete(t.Context(), "ses_b"))
	e.wantBlob(shared, false)
	c := e.create("ses_c")
	e.change(c, store.PutBlob{Content: shared})
	e.wantBlob(shared, true)
}
