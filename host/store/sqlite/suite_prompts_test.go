package sqlite_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/host/store"
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
	wantErr(t, "Submit to an unknown session", e.Submit(t.Context(), prompt("ses_x", "msg_1", "{}")), store.ErrNotFound)
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
	wantErr(t, "prompt taken twice", failure(e.Append(t.Context(), token, again)), store.ErrNotFound)
	equal(t, "messages", len(e.read("ses_a", store.Page{})), 1)
	e.must(e.Submit(t.Context(), prompt("ses_a", "msg_1", "{}")))
	equal(t, "prompts after one was submitted again", e.waiting("ses_a"), []string{"msg_2 {}", "msg_3 {}"})
	e.change(token, store.TakePrompt{PromptID: "msg_3"})
	e.must(e.Submit(t.Context(), prompt("ses_a", "msg_0", "{}")))
	equal(t, "prompts, one taken out of turn", e.waiting("ses_a"), []string{"msg_2 {}", "msg_0 {}"})
}
