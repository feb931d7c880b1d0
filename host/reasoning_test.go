package host_test

import (
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// reasoning returns the number of pieces of reasoning in a request; -1 if one has lost its signature.
func reasoning(req *sdk.ModelRequest) (n int) {
	for _, message := range req.Messages {
		for _, c := range message.Content {
			if c.Type == sdk.ContentReasoning && c.Metadata["signature"] == "signed" {
				n++
			} else if c.Type == sdk.ContentReasoning {
				return -1
			}
		}
	}
	return n
}

// TestRefusedReasoningBeforeCompaction refuses reasoning that a summary then replaces: the answers after it are sent with theirs.
func TestRefusedReasoningBeforeCompaction(t *testing.T) {
	t.Parallel()
	refused := &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Code: "invalid_encrypted_content", Message: "The encrypted content for item rs_1 could not be verified."}
	thinks := func(a answer) answer { a.think = "hm"; return a }
	m := newModel(t, thinks(call("echo", `{"n":1}`)), thinks(say("one")), answer{err: refused}, full(thinks(call("echo", `{"n":2}`))), thinks(call("echo", `{"n":3}`)), say("two"))
	m.on(sdk.PurposeCompaction, say("summary"))
	b := small(base(m))
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, nil, b)
	id := k.titled()
	k.again(id, "go")
	k.again(id, "again")
	want(t, "reasoning after the summary", 1, reasoning(m.last(sdk.PurposeTurn)))
}

// TestRefusedReasoning: reasoning that the server no longer accepts, such as after a change of the account, does not end the session.
func TestRefusedReasoning(t *testing.T) {
	t.Parallel()
	refused := &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Code: "invalid_encrypted_content", Message: "The encrypted content for item rs_1 could not be verified."}
	thinks := func(a answer) answer { a.think = "hm"; return a }
	m := newModel(t, thinks(call("echo", `{"n":1}`)), thinks(say("one")), answer{err: refused}, thinks(call("echo", `{"n":2}`)), say("two"), answer{err: refused}, answer{err: refused})
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, nil, b)
	id, _ := k.prompt("go")
	k.again(id, "again")
	requests := m.of(sdk.PurposeTurn)
	for i, want := range []int{0, 1, 2, 0, 1} { // the last one has that of its turn
		if got := reasoning(requests[i]); got != want {
			t.Errorf("request %d has %d pieces of reasoning, want %d", i, got, want)
		}
	}
	want(t, "messages of the repeated request", len(requests[2].Messages), len(requests[3].Messages))
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "once more"}); err == nil || len(m.of(sdk.PurposeTurn)) != 7 {
		t.Errorf("a server that refuses both: %v after %d requests, want an error after 7", err, len(m.of(sdk.PurposeTurn)))
	}
}

// TestReasoningRefusedTwice: Claude from 5.1 on refuses earlier reasoning after each change of the tools, also twice in a turn.
func TestReasoningRefusedTwice(t *testing.T) {
	t.Parallel()
	refused := answer{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Message: "messages.1.content.0: Invalid `signature` in `thinking` block."}}
	thinks := func(a answer) answer { a.think = "hm"; return a }
	m := newModel(t, thinks(call("echo", `{"n":1}`)), refused, thinks(call("echo", `{"n":2}`)), refused, say("done"))
	b := base(m)
	b.tools = []sdk.Tool{echo("echo")}
	k := start(t, nil, b)
	k.prompt("go") // fails the test if the turn fails
	want(t, "reasoning in the last request", 0, reasoning(m.last(sdk.PurposeTurn)))
}

// TestTitleFromThePrompt: a session has the beginning of its prompt as title if the model writes none.
func TestTitleFromThePrompt(t *testing.T) {
	t.Parallel()
	for name, title := range map[string]answer{"refused": {err: &sdk.ProviderError{ProviderID: "test", StatusCode: 400}}, "empty": say("<think>hm</think>")} {
		k := start(t, nil, base(newModel(t, say("hi")).on(sdk.PurposeTitle, title)))
		id, _ := k.prompt("\n# Fix the parser\nand its tests")
		k.Close(t.Context())
		s, _, err := k.store.Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "the title when it is "+name, "Fix the parser", s.Title)
	}
}
