package host_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// A fork has the messages before a point, with new IDs, and continues independently.
func TestFork(t *testing.T) {
	t.Parallel()
	k := newWork(t, func(o *host.Options) { o.Config.ToolOutput.MaxBytes = 100 })
	long := strings.Repeat("long output ", 50)
	k.bash.act = func() { k.write("a.txt", "two") }
	k.model.on(sdk.PurposeTurn, call("read", `{"text":"`+long+`"}`), say("first answer"), call("bash", `{}`), say("second answer"))
	id, _ := k.prompt("first")
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "second"}); err != nil {
		t.Fatal(err)
	}
	list := k.messages(id)
	s, err := k.Fork(t.Context(), id, list[3].Info.Head().ID)
	if err != nil {
		t.Fatal(err)
	}
	copied := k.messages(s.ID)
	if len(copied) != 3 || textOf(&copied[2]) != "first answer" {
		t.Fatalf("the fork has %d messages: %+v", len(copied), copied)
	}
	if parent := copied[1].Info.(*sdk.AssistantMessage).ParentID; parent != copied[0].Info.Head().ID {
		t.Errorf("parentID = %q, want that of the copy", parent)
	}
	if len(k.messages(id)) != len(list) {
		t.Error("the original lost messages")
	}
	hash := store.Hash([]byte(`{"text":"` + long + `"}`))
	if err := k.store.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := k.store.Blob(t.Context(), hash); err != nil {
		t.Errorf("the fork's large output went with the original: %v", err)
	}
	k.model.on(sdk.PurposeTurn, say("third answer"))
	m, err := k.Prompt(t.Context(), host.PromptInput{SessionID: s.ID, Text: "third"})
	if err != nil || textOf(m) != "third answer" {
		t.Errorf("Prompt() of the fork = %v, %v", m, err)
	}
	if again, err := k.Fork(t.Context(), s.ID, ""); err != nil || !strings.HasSuffix(again.Title, "(fork #2)") {
		t.Errorf("Fork() of the fork = %+v, %v, want fork #2", again, err)
	}
	if _, err := k.Fork(t.Context(), s.ID, "msg_none"); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("Fork() at no message = %v, want ErrNotFound", err)
	}
}

// TestForkOfSubagent continues a copy of a subagent's session as a session of the user: with the same agent if users can choose it, else
// with the default agent.
func TestForkOfSubagent(t *testing.T) {
	t.Parallel()
	for agent, answers := range map[string]string{"helper": sdk.AgentBuild, "reviewer": "reviewer"} {
		m := newModel(t, say("done"), say("continued")).on(sdk.PurposeSubtask, say("helped"))
		b := templated(m, "Look at $1", nil)
		yes := true
		b.commands[0].Agent, b.commands[0].Subtask = agent, &yes
		b.agents = append(b.agents, sdk.Agent{Name: "reviewer", Mode: sdk.ModeAll, Prompt: "You review."})
		k := start(t, nil, b)
		id := k.titled()
		if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Command: "do", Text: "main.go"}); err != nil {
			t.Fatal(err)
		}
		children, err := k.store.Sessions(t.Context(), store.Query{ParentID: id})
		if err != nil || len(children) != 1 {
			t.Fatalf("%d subagents, %v", len(children), err)
		}
		fork, err := k.Fork(t.Context(), children[0].ID, "")
		if err != nil {
			t.Fatal(err)
		}
		want(t, "rules of the copy", 0, len(fork.Permission))
		want(t, "answer", "continued", textOf(k.again(fork.ID, "go on")))
		if s, err := k.Session(t.Context(), fork.ID); err != nil || s.Agent != answers {
			t.Errorf("copy of the session of %s: agent %q, %v; want %s", agent, s.Agent, err, answers)
		}
	}
}

// A fork omits undone messages, and copies the task list only with the whole conversation.
func TestForkOfUndone(t *testing.T) {
	t.Parallel()
	k := start(t, nil, base(newModel(t)))
	todos := []sdk.Todo{{Content: "task", Status: "pending", Priority: "low"}}
	image := &sdk.FilePart{Mime: "image/png", URL: "data:image/png;base64,AAAA", PartHead: sdk.PartHead{ID: "prt_image", SessionID: "ses_x", MessageID: "msg_1"}}
	for revert, want := range map[string]struct {
		messages int
		todos    []sdk.Todo
	}{"": {2, todos}, "msg_2": {1, []sdk.Todo{}}} {
		s := &sdk.Session{ID: "ses_x" + revert, Directory: k.dir, Title: "t"}
		if revert != "" {
			s.Revert = &sdk.Revert{MessageID: revert}
		}
		head := func(id string) sdk.MessageHead { return sdk.MessageHead{ID: id, SessionID: s.ID} }
		part := &sdk.ToolPart{PartHead: sdk.PartHead{ID: "prt_1", SessionID: s.ID, MessageID: "msg_1"}, CallID: "c", Tool: "read",
			State: sdk.ToolState{Status: sdk.ToolCompleted, Input: json.RawMessage("{}"), Attachments: []*sdk.FilePart{image}}}
		err := k.store.Import(t.Context(), []store.Import{{Session: s, Ops: []store.Op{
			store.PutMessage{Message: &sdk.AssistantMessage{MessageHead: head("msg_1")}}, store.PutPart{Part: part},
			store.PutMessage{Message: &sdk.UserMessage{MessageHead: head("msg_2")}}, store.PutTodos{Todos: todos},
		}}}, false)
		if err != nil {
			t.Fatal(err)
		}
		fork, err := k.Fork(t.Context(), s.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		list := k.messages(fork.ID)
		got, err := k.store.Todos(t.Context(), fork.ID)
		if err != nil || len(list) != want.messages || !slices.Equal(got, want.todos) {
			t.Errorf("undone from %q: %d messages, tasks %v, %v; want %+v", revert, len(list), got, err, want)
		}
		if file := list[0].Parts[0].(*sdk.ToolPart).State.Attachments[0]; file.SessionID != fork.ID || file.MessageID != list[0].Info.Head().ID || file.ID == "prt_image" {
			t.Errorf("attachment = %+v, want it with the names of the fork", file.PartHead)
		}
	}
}

// newDelegated returns a session in which a prompt changes a.txt from one to two, and a subagent of the next prompt to three.
func newDelegated(t *testing.T) (k *work, id string) {
	t.Helper()
	k = newWork(t, nil)
	k.write("a.txt", "one")
	id = k.session()
	k.turn(id, k.edit, func() { k.write("a.txt", "two") }, k.path("a.txt"))
	k.delegate(id, func() { k.write("a.txt", "three") })
	return k, id
}

// A fork undoes what subagents did for its copied prompts, too: their sessions stay with the original.
func TestRevertSubagentInFork(t *testing.T) {
	t.Parallel()
	k, id := newDelegated(t)
	k.turn(id, k.edit, func() { k.write("a.txt", "four") }, k.path("a.txt"))
	last := k.messages(id)[6] // the third prompt
	fork, err := k.Fork(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"three", "two", "one"} {
		k.revert(host.RevertOptions{SessionID: fork.ID})
		k.is("after a revert", map[string]string{"a.txt": want})
	}
	k.unrevert(fork.ID)
	k.is("after unrevert", map[string]string{"a.txt": "four"})
	if fork, err = k.Fork(t.Context(), id, last.Info.Head().ID); err != nil {
		t.Fatal(err)
	}
	if changes, err := k.SessionChanges(t.Context(), fork.ID); err != nil || len(changes) != 1 || string(changes[0].After) != "three" {
		t.Errorf("SessionChanges() of the fork = %+v, %v, want only those of its messages", changes, err)
	}
}

// After a new prompt took the place of an undone one, changes of its subagent do not count, neither in the session nor in a fork.
func TestReplacedPromptWithSubagent(t *testing.T) {
	t.Parallel()
	k, id := newDelegated(t)
	k.revert(host.RevertOptions{SessionID: id})
	k.turn(id, k.edit, func() { k.write("b.txt", "b") }, k.path("b.txt"))
	fork, err := k.Fork(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{fork.ID, id} {
		if changes, err := k.SessionChanges(t.Context(), session); err != nil || len(changes) != 2 || string(changes[0].After) != "two" {
			t.Errorf("SessionChanges() = %+v, %v, want those of the first and the last prompt", changes, err)
		}
		k.revert(host.RevertOptions{SessionID: session})
		k.is("after a revert", map[string]string{"a.txt": "two"})
		k.revert(host.RevertOptions{SessionID: session})
		k.is("after two reverts", map[string]string{"a.txt": "one"})
		k.unrevert(session)
		k.is("after unrevert", map[string]string{"a.txt": "two", "b.txt": "b"})
	}
}
