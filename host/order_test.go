package host_test

import (
	"testing"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// TestReadEndsBeforeEdit has a read and an edit in one answer: the edit requires that the file was read, even while it is prepared.
func TestReadEndsBeforeEdit(t *testing.T) {
	t.Parallel()
	read, edit := &acting{id: "read"}, &acting{id: "edit"}
	done := false
	read.act, edit.act = func() { done = true }, func() {}
	edit.wait = func() {
		if !done {
			t.Error("the edit is prepared before the read has ended")
		}
	}
	m := newModel(t)
	k := start(t, nil, base(m), &plugin{name: "tools", tools: []sdk.Tool{read.tool(), edit.tool()}})
	m.on(sdk.PurposeTurn, calls(toolCall{tool: "read", args: `{}`}, toolCall{tool: "edit", args: `{}`}), say("ok"))
	k.prompt("go")
}

// TestOnlyEditsWaitForReads has a slow read and a command in one answer: they run in parallel.
func TestOnlyEditsWaitForReads(t *testing.T) {
	t.Parallel()
	read, bash := &acting{id: "read"}, &acting{id: "bash"}
	ran := make(chan struct{})
	bash.act = func() { close(ran) }
	read.act = func() {
		select {
		case <-ran:
		case <-time.After(10 * time.Second):
			t.Error("the command waits for the read")
		}
	}
	m := newModel(t)
	k := start(t, nil, base(m), &plugin{name: "tools", tools: []sdk.Tool{read.tool(), bash.tool()}})
	m.on(sdk.PurposeTurn, calls(toolCall{tool: "read", args: `{}`}, toolCall{tool: "bash", args: `{}`}), say("ok"))
	k.prompt("go")
}

// TestEditEndsBeforeLaterCalls has an edit and a command in one answer: the command must find the edited file, even while it is prepared.
func TestEditEndsBeforeLaterCalls(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	edited := 0
	k.edit.act, k.edit.files = func() { edited++ }, []string{k.path("a")}
	k.bash.act = func() {}
	k.bash.wait = func() {
		if edited != 1 {
			t.Error("the command is prepared before the edit has ended")
		}
	}
	k.model.on(sdk.PurposeTurn, calls(toolCall{tool: "edit", args: `{}`}, toolCall{tool: "bash", args: `{}`}), say("ok"))
	k.prompt("go")
}
