package host_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// The changes of a process whose clock was ahead come before those of a later process.
func TestRevertWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	id := k.session()
	k.turn(id, k.bash, func() { k.write("a.txt", "two") })
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	token, err := k.store.Claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range k.messages(id)[1:] {
		ops := []store.Op{store.RemoveMessage{MessageID: m.Info.Head().ID}, store.PutMessage{Message: m.Info}}
		for _, p := range m.Parts {
			if _, ok := p.(*sdk.PatchPart); ok {
				p.Head().ID = fmt.Sprintf("prt_%012xAAAAAAAAAAAAAA", uint64(time.Now().Add(48*time.Hour).UnixMilli())*4096%(1<<48))
			}
			ops = append(ops, store.PutPart{Part: p})
		}
		if _, err := k.store.Append(t.Context(), token, ops); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.store.Release(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	next := startWork(t, k.worktree, k.kit.dir, nil)
	next.turn(id, next.bash, func() { next.write("a.txt", "three") })
	next.revert(host.RevertOptions{SessionID: id, MessageID: next.messages(id)[0].Info.Head().ID})
	next.is("after the revert", map[string]string{"a.txt": "one"})
}

// If a process died during a revert while this host ran, the revert is completed before anything else happens to the session.
func TestRevertFinishedLate(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(k *work, id string){
		"prompt": func(k *work, id string) {
			k.model.on(sdk.PurposeTurn, say("fresh"))
			if _, err := k.Prompt(k.kit.t.Context(), host.PromptInput{SessionID: id, Text: "else"}); err != nil {
				k.kit.t.Fatal(err)
			}
		},
		"unrevert and revert": func(k *work, id string) { k.unrevert(id); k.revert(host.RevertOptions{SessionID: id}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newWork(t, nil)
			k.write("a.txt", "one")
			k.write("b.txt", "one")
			id := k.session()
			k.turn(id, k.bash, func() { k.write("a.txt", "two"); k.write("b.txt", "two") })
			first := k.messages(id)[0].Info.Head().ID
			repo, err := snapshot.Open(snapshot.Options{Dir: filepath.Join(k.kit.dir, "data", "snapshots"), Worktree: k.worktree.dir})
			if err != nil {
				t.Fatal(err)
			}
			var steps []snapshot.Step // as the dead process had written them down
			for _, p := range []snapshot.Path{"a.txt", "b.txt"} {
				is, err := repo.Record(p)
				if err != nil {
					t.Fatal(err)
				}
				k.write(string(p), "one")
				was, err := repo.Record(p)
				if err != nil {
					t.Fatal(err)
				}
				steps = append(steps, snapshot.Step{Path: p, From: is, To: was})
			}
			k.write("b.txt", "two") // the one that it did not come to
			data, err := json.Marshal(steps)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := repo.Keep(data)
			if err != nil {
				t.Fatal(err)
			}
			note, err := json.Marshal(map[string]any{"revert": sdk.Revert{MessageID: first, Snapshot: kept}})
			if err != nil {
				t.Fatal(err)
			}
			if err := repo.Begin(&snapshot.Pending{ID: id, Steps: steps, Note: note}); err != nil {
				t.Fatal(err)
			}
			next(k, id)
			k.is("after it", map[string]string{"a.txt": "one", "b.txt": "one"})
			if j, err := repo.PendingOf(id); j != nil || err != nil {
				t.Errorf("PendingOf() = %+v, %v, want nothing", j, err)
			}
		})
	}
}

// A command runs while an edit waits for the user's permission, and changes the file first.
func TestRevertOverlappingCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before map[string]string
		file   string
		edited string // content after both calls; empty: the edit deletes the file
		undone map[string]string
	}{
		"edited again":        {map[string]string{"a.txt": "one"}, "a.txt", "three", map[string]string{"a.txt": "one"}},
		"edited back":         {map[string]string{"a.txt": "one"}, "a.txt", "one", map[string]string{"a.txt": "one"}},
		"made and deleted":    {map[string]string{"a.txt": "one"}, "new/b.txt", "", map[string]string{"a.txt": "one"}},
		"in a repository":     {map[string]string{"in/.git/HEAD": "x", "in/a.txt": "one"}, "in/a.txt", "one", map[string]string{"in/a.txt": "one"}},
		"ignored":             {map[string]string{".gitignore": "a.txt", "a.txt": "one"}, "a.txt", "three", map[string]string{".gitignore": "a.txt", "a.txt": "two"}},
		"outside the project": {map[string]string{}, "../out.txt", "three", map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newWork(t, nil)
			for file, content := range c.before {
				k.write(file, content)
			}
			wrote, edited := make(chan struct{}), make(chan struct{})
			k.bash.act = func() { k.write(c.file, "two"); close(wrote); <-edited }
			k.edit.wait = func() { <-wrote }
			k.edit.act, k.edit.files = func() {
				if c.edited == "" {
					k.remove(c.file)
				} else {
					k.write(c.file, c.edited)
				}
				close(edited)
			}, []string{k.path(c.file)}
			k.model.on(sdk.PurposeTurn, calls(toolCall{tool: "bash", args: "{}"}, toolCall{tool: "edit", args: "{}"}), say("ok"))
			id, _ := k.prompt("go on")
			after := k.state()
			k.revert(host.RevertOptions{SessionID: id})
			k.is("undone", c.undone)
			k.unrevert(id)
			k.is("redone", after)
		})
	}
}
