package host_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// Undo does not revert the work of a session that worked in the directory while a command of this session ran, unless it is forced to.
func TestRevertKeepsOtherSessions(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("edited.txt", "old")
	other := startWork(t, k.worktree, k.kit.dir, nil)
	id, theirs := k.session(), other.session()
	k.turn(id, k.bash, func() {
		k.write("mine.txt", "mine")
		other.turn(theirs, other.edit, func() { k.write("edited.txt", "new") }, k.path("edited.txt"))
		other.turn(theirs, other.bash, func() { k.write("made.txt", "made") })
	})
	after := k.state()
	_, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id})
	var conflict *host.ConflictError
	if !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"edited.txt", "made.txt"}) {
		t.Fatalf("Revert() = %v, want a conflict about the files of the other session", err)
	}
	k.is("after the refusal", after)
	k.revert(host.RevertOptions{SessionID: id, Force: true})
	k.is("after force", map[string]string{"edited.txt": "old"})
	k.unrevert(id)
	k.is("after unrevert", after)

	// An edit belongs to the session that made it, whatever ran then. So does a copy of it in a fork.
	if _, err := other.Fork(t.Context(), theirs, ""); err != nil {
		t.Fatal(err)
	}
	other.revert(host.RevertOptions{SessionID: theirs, Force: true})
	other.revert(host.RevertOptions{SessionID: theirs})
	k.is("after the other session is reverted", map[string]string{"mine.txt": "mine", "edited.txt": "old"})
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after both are reverted", map[string]string{"edited.txt": "old"})
}

// The call of the other session may have begun before the messages to undo, and its turn may have failed after it.
func TestRevertKeepsLongCallsOfOthers(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	other := startWork(t, k.worktree, k.kit.dir, nil)
	id, theirs := k.session(), other.session()
	other.bash.act = func() {
		k.turn(id, k.bash, func() { k.write("made.txt", "made") })
	}
	other.model.on(sdk.PurposeTurn, call("bash", `{}`), answer{err: &sdk.ProviderError{ProviderID: "test", StatusCode: 400, Message: "refused"}})
	_, _ = other.Prompt(t.Context(), host.PromptInput{SessionID: theirs, Text: "go on"}) // fails
	_, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id})
	var conflict *host.ConflictError
	if !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"made.txt"}) {
		t.Fatalf("Revert() = %v, want a conflict about the file of the other session", err)
	}
}
