package host_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// TestAllowInSession: a call that the user allows in a session is not asked about again in that session, but in another one.
func TestAllowInSession(t *testing.T) {
	t.Parallel()
	m := newModel(t, calls(path("src/a")), say("one"), calls(path("src/b")), say("two"), calls(path("src/c")), say("three"))
	b := base(m)
	b.tools = []sdk.Tool{touch(false)}
	k := start(t, asking, b)
	asked := answerAsks(t, k,
		func(r *sdk.PermissionRequest) error { return k.AllowInSession(r.ID) },
		func(r *sdk.PermissionRequest) error { return k.ReplyPermission(r.ID, sdk.ReplyOnce, "") })
	id, _ := k.prompt("go")
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "again"}); err != nil {
		t.Fatal(err)
	}
	k.prompt("elsewhere")
	kept, err := k.store.Approvals(t.Context(), permission.ApprovalProject(k.opts.Project))
	if n := asked(); n != 2 || err != nil || len(kept) != 0 {
		t.Errorf("asked %d times, stored %v, %v; want 2 and none", n, kept, err)
	}
	if err := k.AllowInSession("per_none"); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("AllowInSession of an unknown request = %v", err)
	}
}

// TestAcceptEdits: edits are accepted until the mode is switched off.
func TestAcceptEdits(t *testing.T) {
	t.Parallel()
	m := newModel(t, call("edit", `{}`), say("one"), call("edit", `{}`), say("two"))
	b := base(m)
	b.tools = []sdk.Tool{&tool{id: "edit", prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
		return []sdk.PermissionRequest{{Permission: "edit", Patterns: []string{"a.go"}}}, nil
	}, run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Output: "edited"}, nil
	}}}
	k := start(t, asking, b)
	asked := answerAsks(t, k, func(r *sdk.PermissionRequest) error { return k.ReplyPermission(r.ID, sdk.ReplyOnce, "") })
	id := k.session()
	k.AcceptEdits(id, false) // nothing to switch off
	for i, on := range []bool{true, false} {
		k.AcceptEdits(id, on)
		if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"}); err != nil {
			t.Fatal(i, err)
		}
	}
	if n := asked(); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

// TestWithdraw: a prompt that waits can be listed and taken back; the model never sees it.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	hold, begun := make(chan struct{}), make(chan struct{})
	m := newModel(t, answer{text: "first", begun: begun, hold: hold}, say("third"))
	k := start(t, nil, base(m))
	id := k.session()
	ended := make(chan error, 3)
	send := func(text string) {
		go func() {
			_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: text})
			ended <- err
		}()
	}
	send("one")
	<-begun
	waiting := func(n int) []host.Waiting {
		for {
			if list := k.Waiting(id); len(list) == n {
				return list
			}
			runtime.Gosched()
		}
	}
	send("two")
	waiting(1)
	send("three")
	list := waiting(2)
	if list[0].Input.Text != "two" || list[1].Input.Text != "three" {
		t.Fatalf("Waiting = %+v", list)
	}
	if err := k.Withdraw(id, list[0].ID); err != nil {
		t.Fatal(err)
	}
	waiting(1)
	for deadline := time.Now().Add(30 * time.Second); ; runtime.Gosched() { // a process that ends now leaves only the other one
		if left, err := k.store.Prompts(t.Context(), id); err != nil || len(left) == 1 && left[0].ID == list[1].ID {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("stored prompts = %v", left)
		}
	}
	close(hold)
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := k.Withdraw(id, list[1].ID); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("Withdraw of an answered prompt = %v", err)
	}
	left, err := k.store.Prompts(t.Context(), id)
	if err != nil || len(left) != 0 {
		t.Errorf("stored prompts = %v, %v", left, err)
	}
	for _, msg := range k.messages(id) {
		for _, p := range msg.Parts {
			if text, ok := p.(*sdk.TextPart); ok && text.Text == "two" {
				t.Error("the prompt was sent")
			}
		}
	}
}

// TestWithdrawWhileNothingIsStored: prompts can be listed and taken back while the disk hangs, more of them than wait for it elsewhere.
func TestWithdrawWhileNothingIsStored(t *testing.T) {
	t.Parallel()
	const prompts = 300
	hangs, release := make(chan struct{}), make(chan struct{})
	f := &faulty{onStart: func() {
		close(hangs)
		<-release
	}}
	k := faultyKit(t, f, base(newModel(t, call("version", `{}`), say("done"))), version("one"))
	id := k.titled()
	wait, err := k.Submit(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	<-hangs
	for range prompts {
		if _, err := k.Submit(t.Context(), host.PromptInput{SessionID: id, Text: "more"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range k.Waiting(id) {
		if err := k.Withdraw(id, w.ID); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "waiting", 0, len(k.Waiting(id)))
	close(release)
	if _, err := wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; runtime.Gosched() {
		if left, err := k.store.Prompts(t.Context(), id); err != nil || len(left) == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("stored prompts = %v", left)
		}
	}
}

// TestShellLine runs as a call of the bash tool that asks, and the model sees line and output with the next prompt.
func TestShellLine(t *testing.T) {
	t.Parallel()
	m := newModel(t, say("I see"))
	b := base(m)
	b.tools = []sdk.Tool{shellTool(map[string]string{"echo `date` $1": "noon"}, nil)}
	k := start(t, asking, b)
	asked := answerAsks(t, k,
		func(r *sdk.PermissionRequest) error { return k.ReplyPermission(r.ID, sdk.ReplyOnce, "") },
		func(r *sdk.PermissionRequest) error { return k.ReplyPermission(r.ID, sdk.ReplyReject, "") })
	id := k.session()
	line := host.PromptInput{SessionID: id, Text: "echo `date` $1", Shell: true, NoReply: true}
	if _, err := k.Prompt(t.Context(), line); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "what time is it?"}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Prompt(t.Context(), line); err == nil {
		t.Error("a rejected line has no error")
	}
	first := k.messages(id)[0].Parts[0]
	asked()
	if text, ok := first.(*sdk.TextPart); !ok || text.Text != "$ echo `date` $1\nnoon" {
		t.Errorf("the message is %+v", first)
	}
	if n := len(m.requests); n != 1 || !strings.Contains(whole(m.requests[0]), "noon") {
		t.Errorf("%d requests; the first is %s", n, whole(m.requests[0]))
	}
}

// TestRejectionInSubagent: a user who rejects a call of a subagent without a message stops the whole turn; with one, the models go on.
func TestRejectionInSubagent(t *testing.T) {
	t.Parallel()
	for message, requests := range map[string]int{"": 1, "not this file": 2} {
		m := newModel(t, calls(ask("helper", "x")), say("done")).on(sdk.PurposeSubtask, calls(path("src/a")), say("ok"))
		k := start(t, asking, delegating(m, touch(false)))
		reply := func(r *sdk.PermissionRequest) error {
			if r.Permission == "touch" {
				return k.ReplyPermission(r.ID, sdk.ReplyReject, message)
			}
			return k.ReplyPermission(r.ID, sdk.ReplyOnce, "")
		}
		asked := answerAsks(t, k, reply, reply)
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: k.titled(), Text: "go"})
		if stopped := err != nil; stopped != (message == "") || len(m.of(sdk.PurposeTurn)) != requests {
			t.Errorf("message %q: %v after %d requests of the parent, want %d", message, err, len(m.of(sdk.PurposeTurn)), requests)
		}
		asked()
	}
}
