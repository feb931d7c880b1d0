package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// child creates a session below another and gives it one of everything.
func (e *env) child(id, parent string) store.Token {
	e.Helper()
	token := e.createAs(id, func(s *sdk.Session) { s.ParentID = parent })
	m := user(id, "msg_1")
	e.change(token, append(put(m, text(m, "prt_1", "x"), text(m, "prt_2", "y")),
		store.AppendText{PartID: "prt_1", Field: "text", Text: "z"}, store.PutMessage{Message: user(id, "msg_3")}, store.RemoveMessage{MessageID: "msg_3"},
		store.PutTodos{Todos: []sdk.Todo{{Content: "c"}}}, store.PutLedger{MessageID: "msg_1", Entries: []byte("[]")},
		store.SetTurn{Open: true})...)
	e.must(e.Submit(e.Context(), prompt(id, "msg_2", "{}")))
	return token
}

func testDelete(t *testing.T, e *env) {
	e.child("ses_keep", "")
	e.child("ses_root", "")
	e.child("ses_child", "ses_root")
	e.child("ses_grandchild", "ses_child")
	e.child("ses_sibling", "ses_keep")
	kept := e.read("ses_keep", store.Page{})
	e.must(e.Delete(t.Context(), "ses_root"))
	e.left("ses_keep", "ses_sibling")
	for _, id := range []string{"ses_root", "ses_child", "ses_grandchild"} {
		_, _, err := e.Session(t.Context(), id)
		wantErr(t, "Session "+id, err, store.ErrNotFound)
	}
	equal(t, "kept messages", e.read("ses_keep", store.Page{}), kept)
	equal(t, "kept prompts", e.waiting("ses_keep"), []string{"msg_2 {}"})

	// A session that comes back under the same name is empty.
	token := e.create("ses_root")
	equal(t, "messages", e.read("ses_root", store.Page{}), []string{})
	equal(t, "prompts", e.waiting("ses_root"), []string{})
	equal(t, "rows", rowNames(e.rows("ses_root", 0)), []string{"session ses_root"})
	e.untouched(token)
	e.must(e.Submit(t.Context(), prompt("ses_root", "msg_2", "{}")))
	equal(t, "prompt of the earlier life", e.waiting("ses_root"), []string{"msg_2 {}"})
}

func testDeleteOwned(t *testing.T, e *env) {
	e.child("ses_root", "")
	token := e.child("ses_child", "ses_root")
	other := e.open()
	e.must(e.Release(t.Context(), store.Token{Session: "ses_root", Epoch: 1}))
	owner := ownerOf(t, "Delete of an owned child", other.Delete(t.Context(), "ses_root"))
	equal(t, "owned session", owner.Session, "ses_child")
	e.left("ses_child", "ses_root")
	e.must(e.Release(t.Context(), token))
	e.must(other.Delete(t.Context(), "ses_root"))
	e.left()
}

func testNotFound(t *testing.T, e *env) {
	ctx := t.Context()
	calls := everyCall(e.Store, ctx, store.Token{Session: "ses_x", Epoch: 1})
	for _, name := range []string{"Create", "Release", "Sessions", "List", "Interrupted", "Import", "Search", "Collect"} {
		delete(calls, name)
	}
	for name, call := range calls {
		wantErr(t, name, call(), store.ErrNotFound)
	}
}

// everyCall returns a call of each method but Close.
func everyCall(s store.Store, ctx context.Context, t store.Token) map[string]func() error {
	return map[string]func() error{
		"Create":      func() error { _, err := s.Create(ctx, session("ses_new")); return err },
		"Claim":       func() error { _, err := s.Claim(ctx, t.Session); return err },
		"Release":     func() error { return s.Release(ctx, t) },
		"Append":      func() error { _, err := s.Append(ctx, t, put(user(t.Session, "msg_1"))); return err },
		"Session":     func() error { _, _, err := s.Session(ctx, t.Session); return err },
		"Sessions":    func() error { _, err := s.Sessions(ctx, store.Query{}); return err },
		"List":        func() error { _, err := s.List(ctx, store.Query{}); return err },
		"Messages":    func() error { _, err := s.Messages(ctx, t.Session, store.Page{}); return err },
		"Changes":     func() error { _, err := s.Changes(ctx, t.Session, 0, 0); return err },
		"Delete":      func() error { return s.Delete(ctx, t.Session) },
		"Interrupted": func() error { _, err := s.Interrupted(ctx); return err },
		"Submit":      func() error { return s.Submit(ctx, prompt(t.Session, "msg_1", "{}")) },
		"Prompts":     func() error { _, err := s.Prompts(ctx, t.Session); return err },
		"Todos":       func() error { _, err := s.Todos(ctx, t.Session); return err },
		"Ledger":      func() error { _, err := s.Ledger(ctx, t.Session, ""); return err },
		"Import":      func() error { return s.Import(ctx, []store.Import{{Session: session("ses_imported")}}, false) },
		"Search":      func() error { _, err := s.Search(ctx, store.SearchQuery{Words: []string{"x"}}); return err },
		"Collect":     func() error { _, err := s.Collect(ctx, store.GC{}); return err },
		"Blob":        func() error { _, err := s.Blob(ctx, store.Hash(nil)); return err },
	}
}

// A call whose context has ended fails with its error, or did what it should.
func testCancelled(t *testing.T, e *env) {
	token := e.create("ses_a")
	e.change(token, store.PutBlob{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := everyCall(e.Store, ctx, token)
	delete(calls, "Delete") // so that the others find the session
	for name, call := range calls {
		if err := call(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrFenced) {
			t.Errorf("%s = %v, want context.Canceled", name, err)
		}
	}
	e.claim("ses_a")
}

func testClosed(t *testing.T, e *env) {
	token := e.create("ses_a")
	e.must(e.Close())
	e.must(e.Close())
	for name, call := range everyCall(e.Store, t.Context(), token) {
		wantErr(t, name+" after Close", call(), store.ErrClosed)
	}
}

// Writes acknowledged while Close ran are stored; the others are refused.
func testCloseWhileWriting(t *testing.T, e *env) {
	const writers = 8
	acked := make([]int, writers)
	var tokens []store.Token
	for w := range writers {
		tokens = append(tokens, e.create(number("ses", w)))
	}
	started := make(chan struct{}, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := 0; ; i++ {
				_, err := e.Append(t.Context(), tokens[w], put(user(tokens[w].Session, number("msg", i))))
				if errors.Is(err, store.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("Append = %v", err)
					return
				}
				acked[w]++
				if i == 3 {
					started <- struct{}{}
				}
			}
		})
		group.Go(func() {
			for {
				if _, err := e.Messages(t.Context(), tokens[w].Session, store.Page{Limit: 2}); err != nil {
					if !errors.Is(err, store.ErrClosed) {
						t.Errorf("Messages = %v", err)
					}
					return
				}
			}
		})
	}
	for range writers {
		<-started
	}
	e.must(e.Close())
	group.Wait()
	e.Store = e.open().Store
	for w := range writers {
		equal(t, fmt.Sprintf("messages of writer %d", w), len(e.read(tokens[w].Session, store.Page{})), acked[w])
	}
}
