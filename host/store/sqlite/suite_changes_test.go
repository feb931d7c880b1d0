package sqlite_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// badOps are changes that no store may make, by what is wrong with them.
func badOps() map[string]store.Op {
	there := user("ses_a", "msg_1")
	missing := user("ses_a", "msg_missing")
	return map[string]store.Op{
		"part of a missing message":  store.PutPart{Part: text(missing, "prt_9", "x")},
		"part that moves":            store.PutPart{Part: text(user("ses_a", "msg_2"), "prt_1", "x")},
		"text for a missing part":    store.AppendText{PartID: "prt_missing", Field: "text", Text: "x"},
		"text for the wrong field":   store.AppendText{PartID: "prt_1", Field: "raw", Text: "x"},
		"text for no field":          store.AppendText{PartID: "prt_2", Field: "", Text: "x"},
		"text for a closed call":     store.AppendText{PartID: "prt_2", Field: "raw", Text: "x"},
		"unknown prompt":             store.TakePrompt{PromptID: "msg_9"},
		"session of another name":    store.PutSession{Session: session("ses_b")},
		"message of another session": store.PutMessage{Message: user("ses_b", "msg_9")},
		"part of another session":    store.PutPart{Part: text(user("ses_b", there.ID), "prt_9", "x")},
		"message that is not JSON":   store.PutMessage{Message: &sdk.UnknownMessage{MessageHead: there.MessageHead, Raw: json.RawMessage("{")}},
	}
}

// fill makes the session that badOps are for.
func (e *env) fill() store.Token {
	e.Helper()
	token := e.create("ses_a")
	m := user("ses_a", "msg_1")
	call := &sdk.ToolPart{PartHead: head(m, "prt_2"), CallID: "c", Tool: "read", State: sdk.ToolState{
		Status: sdk.ToolCompleted, Input: json.RawMessage(`{}`), Output: "o", Metadata: sdk.Object{}}}
	e.change(token, put(m, text(m, "prt_1", "hello"), call)...)
	e.change(token, put(user("ses_a", "msg_2"))...)
	return token
}

func testAtomic(t *testing.T, e *env) {
	token := e.fill()
	before, rows := e.read("ses_a", store.Page{}), e.rows("ses_a", 0)
	good := []store.Op{
		store.PutMessage{Message: assistant("ses_a", "msg_3")},
		store.AppendText{PartID: "prt_1", Field: "text", Text: " world"},
		store.RemoveMessage{MessageID: "msg_2"},
		store.SetTurn{Open: true},
		store.PutTodos{Todos: []sdk.Todo{{Content: "c"}}},
		store.PutBlob{Content: []byte("content")},
		store.PutLedger{MessageID: "msg_1", Entries: json.RawMessage("[]")},
	}
	for name, bad := range badOps() {
		err := failure(e.Append(t.Context(), token, append(good[:len(good):len(good)], bad)))
		if err == nil || strings.Contains(name, "missing") && !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("%s: Append = %v", name, err)
		}
		equal(t, name+": messages", e.read("ses_a", store.Page{}), before)
		equal(t, name+": changes", e.rows("ses_a", 0), rows)
	}
	wantErr(t, "Blob of a refused append", failure(e.Blob(t.Context(), store.Hash([]byte("content")))), store.ErrNotFound)
	seq := e.change(token)
	equal(t, "seq after removing nothing", e.change(token, store.RemoveMessage{MessageID: "msg_9"}), seq)
	e.untouched(token)
}

// Appends that share a transaction must not fail each other.
func testBadNeighbours(t *testing.T, e *env) {
	good, bad := e.create("ses_good"), e.fill()
	stale := e.create("ses_stale")
	e.claim("ses_stale")
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			if _, err := e.Append(t.Context(), good, put(user("ses_good", number("msg", i)))); err != nil {
				t.Errorf("good append: %v", err)
			}
		})
		group.Go(func() {
			ops := []store.Op{store.RemoveMessage{MessageID: "msg_1"}, store.TakePrompt{PromptID: "msg_9"}}
			wantErr(t, "bad append", failure(e.Append(t.Context(), bad, ops)), store.ErrNotFound)
		})
		group.Go(func() {
			wantErr(t, "stale append", failure(e.Append(t.Context(), stale, put(user("ses_stale", "msg_1")))), store.ErrFenced)
		})
	}
	group.Wait()
	equal(t, "good messages", len(e.read("ses_good", store.Page{})), 40)
	equal(t, "stale messages", len(e.read("ses_stale", store.Page{})), 0)
	if ms := e.read("ses_a", store.Page{}); !strings.Contains(ms[0], "prt_1") {
		t.Errorf("a refused append removed the part: %s", ms[0])
	}
}

// The caller may change what it passed as soon as the call returns.
func testValuesCopied(t *testing.T, e *env) {
	token := e.create("ses_a")
	m, content := user("ses_a", "msg_1"), []byte("content")
	e.change(token, append(put(m, text(m, "prt_1", "x")), store.PutBlob{Content: content})...)
	hash := store.Hash(content)
	want := e.read("ses_a", store.Page{})
	m.Agent, content[0] = "changed", 'X'
	equal(t, "messages", e.read("ses_a", store.Page{}), want)
	got, err := e.Blob(t.Context(), hash)
	e.must(err)
	equal(t, "blob", string(got), "content")
	got[0] = 'Y'
	again, err := e.Blob(t.Context(), hash)
	e.must(err)
	equal(t, "blob read again", string(again), "content")
}
