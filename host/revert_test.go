package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/sdk"
)

// Files and messages are undone together and restored together.
func TestRevert(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	k.write("mine.txt", "mine")
	id := k.session()
	first := k.state()
	k.turn(id, k.bash, func() { k.write("a.txt", "two"); k.write("dir/new.txt", "new") })
	second := k.state()
	k.turn(id, k.edit, func() { k.write("a.txt", "three") }, k.path("a.txt"))
	third := k.state()

	r := k.revert(host.RevertOptions{SessionID: id})
	if !slices.Equal(r.Files, []string{"a.txt"}) || r.Messages != 3 {
		t.Errorf("Revert() = %+v, want a.txt and 3 messages", r)
	}
	k.is("after one revert", second)
	r = k.revert(host.RevertOptions{SessionID: id})
	if !slices.Equal(r.Files, []string{"a.txt", "dir/new.txt"}) || r.Messages != 3 {
		t.Errorf("Revert() again = %+v, want two files and 3 more messages", r)
	}
	k.is("after two reverts", first)
	if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id}); !errors.Is(err, host.ErrNothing) {
		t.Errorf("Revert() of everything = %v, want ErrNothing", err)
	}
	for what, want := range []map[string]string{second, third} {
		if r := k.revert(host.RevertOptions{SessionID: id, Redo: true}); r.Messages != 0 || (r.MessageID == "") != (what == 1) {
			t.Errorf("redo %d = %+v, want the next undone prompt after the first only", what, r)
		}
		k.is("after redo", want)
	}
	sub := k.Subscribe(64, false)
	defer sub.Close()
	if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id, Redo: true}); !errors.Is(err, host.ErrNothing) {
		t.Errorf("third redo = %v, want ErrNothing", err)
	}
	for _, e := range untilIdle(t, sub) {
		if e.Type == sdk.EventSessionError {
			t.Errorf("an event reports a failed turn: %v", e.Properties)
		}
	}
	k.revert(host.RevertOptions{SessionID: id})
	k.revert(host.RevertOptions{SessionID: id})
	forward := k.messages(id)[3].Info.Head().ID
	k.revert(host.RevertOptions{SessionID: id, MessageID: forward})
	k.is("after going forward one turn", second)
	if r := k.unrevert(id); !slices.Equal(r.Files, []string{"a.txt"}) {
		t.Errorf("Unrevert() = %+v, want a.txt", r)
	}
	k.is("after unrevert", third)
	if _, err := k.Unrevert(t.Context(), id, false); !errors.Is(err, host.ErrNothing) {
		t.Errorf("second Unrevert() = %v, want ErrNothing", err)
	}

	k.revert(host.RevertOptions{SessionID: id})
	k.model.on(sdk.PurposeTurn, say("fresh"))
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "something else"}); err != nil {
		t.Fatal(err)
	}
	k.is("after the next prompt", second)
	if got := len(k.messages(id)); got != 5 {
		t.Errorf("%d messages are left, want 3 of the first turn and 2 of the last", got)
	}
	if s, err := k.Session(t.Context(), id); err != nil || s.Revert != nil {
		t.Errorf("session = %+v, %v, want no revert", s, err)
	}
	requests := k.model.of(sdk.PurposeTurn)
	if last, err := json.Marshal(requests[len(requests)-1].Messages); err != nil || strings.Count(string(last), "go on") != 1 {
		t.Errorf("the model got %s, %v, want the first prompt alone and the last", last, err)
	}
}

// Files that another program changed since are neither overwritten nor lost.
func TestRevertConflicts(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	k.write("b.txt", "one")
	id := k.session()
	k.turn(id, k.bash, func() { k.write("a.txt", "two"); k.write("b.txt", "two") })
	k.write("a.txt", "mine")
	before := k.state()
	_, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id})
	var conflict *host.ConflictError
	if !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"a.txt"}) {
		t.Fatalf("Revert() = %v, want a conflict about a.txt", err)
	}
	k.is("after the refusal", before)
	k.revert(host.RevertOptions{SessionID: id, Force: true})
	k.is("after force", map[string]string{"a.txt": "one", "b.txt": "one"})
	k.unrevert(id)
	k.is("after unrevert", before)

	k.turn(id, k.edit, func() { k.write("a.txt", "three") }, k.path("a.txt"))
	first := k.messages(id)[0].Info.Head().ID
	if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id, MessageID: first}); !errors.As(err, &conflict) {
		t.Errorf("Revert() over the user's change in the middle = %v, want a conflict", err)
	}
	k.revert(host.RevertOptions{SessionID: id})
	k.write("a.txt", "changed while undone")
	if _, err := k.Unrevert(t.Context(), id, false); !errors.As(err, &conflict) {
		t.Errorf("Unrevert() over the user's change = %v, want a conflict", err)
	}
}

// Ignored and large files that the session's own edit tools wrote can be undone; what a command did to them cannot.
func TestRevertIgnoredAndLarge(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	large := strings.Repeat("x", snapshot.MaxFile+1)
	k.write(".gitignore", "*.log\n")
	k.write("a.log", "log")
	k.write("large.bin", large)
	before := k.state()
	id := k.session()
	k.turn(id, k.edit, func() { k.write("a.log", "edited"); k.write("large.bin", large+"y") }, k.path("a.log"), k.path("large.bin"))
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after the revert", before)
}

// A subagent's changes are reverted with the prompt that caused them.
func TestRevertSubagent(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	id := k.session()
	k.delegate(id, func() { k.write("a.txt", "two") })
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after the revert", map[string]string{"a.txt": "one"})
	k.unrevert(id)
	k.is("after unrevert", map[string]string{"a.txt": "two"})
}

// A prompt that waited while a subagent worked is undone without the changes of the subagent, which belong to the prompt before.
func TestRevertPromptThatWaited(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	id := k.session()
	next, wait := 0, func(context.Context) (*sdk.MessageWithParts, error) { return nil, nil }
	k.bash.act = func() {
		if next++; next == 2 {
			k.write("a.txt", "two")
			return
		}
		var err error
		if wait, err = k.Submit(t.Context(), host.PromptInput{SessionID: id, Text: "second"}); err != nil {
			t.Error(err)
		}
	}
	k.model.on(sdk.PurposeTurn, call("task", `{"subagent_type":"helper","prompt":"do it"}`), say("ok"))
	k.model.on(sdk.PurposeSubtask, call("bash", `{}`), call("bash", `{}`), say("done"))
	_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "first"})
	if _, err2 := wait(t.Context()); err != nil || err2 != nil || next != 2 {
		t.Fatal(err, err2, next)
	}
	k.revert(host.RevertOptions{SessionID: id})
	k.is("without the second prompt", map[string]string{"a.txt": "two"})
	k.revert(host.RevertOptions{SessionID: id})
	k.is("without the first prompt", map[string]string{"a.txt": "one"})
}

// Outside a repository, the files that calls announce are undone, but no others; without snapshots, only messages. A tool that only reads
// takes no snapshots.
func TestSnapshotsOff(t *testing.T) {
	t.Parallel()
	off := false
	tests := map[string]func(*host.Options){
		"switched off":   func(o *host.Options) { o.Config.Snapshot = &off },
		"no repository":  func(o *host.Options) { o.Project.Git = false },
		"home directory": func(o *host.Options) { o.Project.Home = filepath.Join(o.Project.Worktree, "me") },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logs := &records{}
			k := newWork(t, func(o *host.Options) {
				o.Logger = logs.logger()
				change(o)
			})
			none := func(when string) {
				if _, err := os.Stat(filepath.Join(k.kit.dir, "data", "snapshots")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("snapshots %s = %v, want none", when, err)
				}
			}
			id := k.session()
			k.turn(id, k.bash, func() { k.write("a.txt", "two"); k.write("b.txt", "two") })
			none("after a command")
			k.turn(id, k.edit, func() { k.write("b.txt", "three") }, k.path("b.txt"))
			if logs.has("cannot be undone") || logs.has("cannot be removed") {
				t.Error("a warning that nothing can do anything about")
			}
			edited := []string{"b.txt"}
			if name == "switched off" {
				edited = []string{}
				none("after an edit")
			}
			r := k.revert(host.RevertOptions{SessionID: id})
			if !slices.Equal(r.Files, edited) || r.Messages != 3 || (r.Off == "") != (name == "switched off") {
				t.Errorf("Revert() = %+v, want the files %q, 3 messages and the reason for no more files", r, edited)
			}
			after := map[string]string{"a.txt": "two", "b.txt": "three"}
			if name != "switched off" {
				after["b.txt"] = "two"
			}
			k.is("after the revert of the edit", after)
			if r := k.revert(host.RevertOptions{SessionID: id}); !slices.Equal(r.Files, []string{}) || r.Messages != 3 {
				t.Errorf("Revert() = %+v, want no file and 3 messages", r)
			}
			k.is("after the revert of the command", after)
			k.unrevert(id)
			k.is("after unrevert", map[string]string{"a.txt": "two", "b.txt": "three"})
		})
	}
	t.Run("reading tool", func(t *testing.T) {
		t.Parallel()
		k := newWork(t, nil)
		k.model.on(sdk.PurposeTurn, call("read", `{}`), say("ok"))
		k.prompt("read it")
		if _, err := os.Stat(filepath.Join(k.kit.dir, "data", "snapshots")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("snapshots = %v, want none", err)
		}
	})
}

// Files with the same names in another project are not touched.
func TestRevertElsewhere(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	id, here, there := "", newWorktree(t), newWorktree(t)
	there.write("a.txt", "two")
	t.Run("here", func(t *testing.T) {
		k := startWork(t, &worktree{t: t, dir: here.dir}, data, nil)
		id = k.session()
		k.turn(id, k.bash, func() { k.write("a.txt", "two") })
	})
	k := startWork(t, there, data, nil)
	if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id}); !errors.Is(err, host.ErrElsewhere) {
		t.Errorf("Revert() in another project = %v, want ErrElsewhere", err)
	}
	k.is("after the refusal", map[string]string{"a.txt": "two"})
}

// While a turn runs, nothing is undone, however long it takes. The turn continues as if no undo was requested.
func TestRevertBusy(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	id := k.session()
	k.turn(id, k.bash, func() { k.write("a.txt", "two") })
	begun, hold := make(chan struct{}), make(chan struct{})
	k.bash.act = func() { close(begun); <-hold; k.write("a.txt", "three") }
	k.model.on(sdk.PurposeTurn, call("bash", `{}`), say("ok"))
	done := make(chan error, 1)
	go func() { // ends with the turn
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		done <- err
	}()
	<-begun
	before := k.state()
	if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id}); !errors.Is(err, host.ErrBusy) {
		t.Errorf("Revert() of a busy session = %v, want ErrBusy", err)
	}
	if _, err := k.Unrevert(t.Context(), id, false); !errors.Is(err, host.ErrBusy) {
		t.Errorf("Unrevert() of a busy session = %v, want ErrBusy", err)
	}
	k.is("while the turn runs", before)
	if s, err := k.Session(t.Context(), id); err != nil || s.Revert != nil {
		t.Errorf("session = %+v, %v, want no revert", s, err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after the turn", map[string]string{"a.txt": "two"})
}

// A step that may have written files names the states at its beginning and end, like opencode's; a step that only read has none.
func TestStepStates(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	id := k.session()
	k.bash.act = func() { k.write("a.txt", "two") }
	k.model.on(sdk.PurposeTurn, call("bash", `{}`), call("read", `{}`), say("ok"))
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	list := k.messages(id)
	start, end, patch := statesOf(list[1].Parts)
	if start == "" || end == "" || start == end {
		t.Errorf("the writing step began with %q and ended with %q, want two states", start, end)
	}
	if patch == nil || patch.Hash != start || !slices.Equal(patch.Files, []string{k.path("a.txt")}) {
		t.Errorf("patch = %+v, want the state %s and a.txt", patch, start)
	}
	stores, err := filepath.Glob(filepath.Join(k.kit.dir, "data", "snapshots", "*"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores = %q, %v, want one", stores, err)
	}
	for hash, want := range map[string]string{start: "one", end: "two"} {
		out, err := exec.Command("git", "--git-dir", stores[0], "cat-file", "blob", hash+":a.txt").CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("a.txt in %s = %q, %v, want %q", hash, out, err, want)
		}
	}
	if start, end, patch := statesOf(list[2].Parts); start != "" || end != "" || patch != nil {
		t.Errorf("the reading step has states %q and %q and patch %+v, want none", start, end, patch)
	}
}

func statesOf(parts sdk.Parts) (start, end string, patch *sdk.PatchPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *sdk.StepStartPart:
			start = p.Snapshot
		case *sdk.StepFinishPart:
			end = p.Snapshot
		case *sdk.PatchPart:
			patch = p
		}
	}
	return start, end, patch
}

// Permissions that a session changed are restored. Permissions that another program set on a file whose content the session changed stay.
func TestRevertPermissions(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // where a file has none of these
	}
	k := newWork(t, nil)
	mode := func(name string, m os.FileMode) {
		if err := os.Chmod(k.path(name), m); err != nil {
			t.Error(err)
		}
	}
	is := func(what, name string, want os.FileMode) {
		t.Helper()
		if info, err := os.Stat(k.path(name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %s has %v, %v, want %v", what, name, info.Mode(), err, want)
		}
	}
	k.write("run", "one")
	k.write("content", "one")
	mode("run", 0o644) // whatever the umask is
	mode("content", 0o644)
	id := k.session()
	k.turn(id, k.bash, func() { mode("run", 0o750); k.write("content", "two") })
	mode("content", 0o600)
	k.revert(host.RevertOptions{SessionID: id})
	is("after the revert", "run", 0o644)
	is("after the revert", "content", 0o600)
	k.unrevert(id)
	is("after unrevert", "run", 0o750)
	is("after unrevert", "content", 0o600)
	k.is("after unrevert", map[string]string{"run": "one", "content": "two"})
	mode("run", 0o700)
	var conflict *host.ConflictError
	if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id}); !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"run"}) {
		t.Errorf("Revert() over the user's permissions = %v, want a conflict about run", err)
	}
}

// Permissions that a later turn changed come back with unrevert, also when the turns were reverted one after another.
func TestUnrevertPermissionsOfSeveralTurns(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // where a file has none of these
	}
	k := newWork(t, nil)
	mode := func(m os.FileMode) func() {
		return func() {
			if err := os.Chmod(k.path("a"), m); err != nil {
				t.Error(err)
			}
		}
	}
	is := func(what string, want os.FileMode) {
		t.Helper()
		if info, err := os.Stat(k.path("a")); err != nil || info.Mode() != want {
			t.Errorf("%s: a has %v, %v, want %v", what, info.Mode(), err, want)
		}
	}
	k.write("a", "one")
	mode(0o644)()
	id := k.session()
	k.turn(id, k.bash, func() { k.write("a", "two") })
	k.turn(id, k.bash, mode(0o755))
	k.revert(host.RevertOptions{SessionID: id})
	is("after the first revert", 0o644)
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after both reverts", map[string]string{"a": "one"})
	k.unrevert(id)
	is("after unrevert", 0o755)
	k.is("after unrevert", map[string]string{"a": "two"})
	// Permissions that the user set between two reverts are not reset silently.
	k.revert(host.RevertOptions{SessionID: id})
	mode(0o600)()
	var conflict *host.ConflictError
	if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id}); !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"a"}) {
		t.Errorf("Revert() over the user's permissions = %v, want a conflict about a", err)
	}
	k.revert(host.RevertOptions{SessionID: id, Force: true})
	k.unrevert(id)
	is("after a forced revert and unrevert", 0o600)
}

// Directories that existed before stay, even if they are empty; new directories are removed.
func TestRevertDirectories(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	there := func(name string) bool { _, err := os.Stat(k.path(name)); return err == nil }
	if err := os.MkdirAll(k.path("mine/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	id := k.session()
	k.turn(id, k.bash, func() {
		k.write("mine/empty/x", "x")
		k.write("new/deep/x", "x")
		if err := os.MkdirAll(k.path("new/empty"), 0o755); err != nil {
			t.Error(err)
		}
	})
	k.revert(host.RevertOptions{SessionID: id})
	if !there("mine/empty") || there("new") {
		t.Errorf("after the revert mine/empty is there: %t, new: %t; want the first alone", there("mine/empty"), there("new"))
	}
	k.unrevert(id)
	if !there("new/empty") || !there("new/deep/x") {
		t.Error("after unrevert what the session made is not there")
	}
	k.write("new/empty/mine", "mine")
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after the revert with a file of the user", map[string]string{"new/empty/mine": "mine"})
}

// If a limit prevents a state, the user learns what cannot be undone and why.
func TestUndoLimitsAreTold(t *testing.T) {
	t.Parallel()
	log := &records{}
	k := newWork(t, func(o *host.Options) { o.Logger = log.logger() })
	k.write("large.bin", strings.Repeat("x", snapshot.MaxFile+1))
	k.turn(k.session(), k.bash, func() { k.remove("large.bin") })
	const large = "too large, too many or not readable"
	if !log.has(large) {
		t.Errorf("the log says nothing of a large file: %q", log.all())
	}
	k.write("large.bin", strings.Repeat("x", snapshot.MaxFile+1))
	for _, news := range []bool{false, true} { // in other processes
		if news {
			k.write("larger.bin", strings.Repeat("x", snapshot.MaxFile+1))
		}
		log = &records{}
		next := startWork(t, k.worktree, t.TempDir(), func(o *host.Options) { o.Logger = log.logger(); o.Project.DataDir = filepath.Join(k.kit.dir, "data") })
		next.turn(next.session(), next.bash, func() {})
		next.close()
		if log.has(large) != news {
			t.Errorf("news %v: the log is %q", news, log.all())
		}
	}
	stores, err := filepath.Glob(filepath.Join(k.kit.dir, "data", "snapshots", "*"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores = %q, %v, want one", stores, err)
	}
	if err := os.WriteFile(filepath.Join(stores[0], "slow"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log = &records{}
	data := t.TempDir()
	next := startWork(t, k.worktree, data, func(o *host.Options) { o.Logger = log.logger(); o.Project.DataDir = filepath.Join(k.kit.dir, "data") })
	next.turn(next.session(), next.bash, func() {})
	if !log.has("cannot be undone") {
		t.Errorf("the log says nothing of a project that is too slow: %q", log.all())
	}
}

// If old states cannot be removed, changes can still be undone, and the log does not claim otherwise. Later warnings are still logged.
func TestOldStatesCannotBeRemoved(t *testing.T) {
	t.Parallel()
	log := &records{}
	k := newWork(t, func(o *host.Options) { o.Logger = log.logger() })
	k.turn(k.session(), k.bash, func() {})
	marks, err := filepath.Glob(filepath.Join(k.kit.dir, "data", "snapshots", "*", "collected"))
	if err != nil || len(marks) != 1 {
		t.Fatalf("marks = %q, %v, want one", marks, err)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.Remove(marks[0]), os.Mkdir(marks[0], 0o700), os.Chtimes(marks[0], old, old)); err != nil {
		t.Fatal(err)
	}
	k.turn(k.session(), k.bash, func() {})
	if !log.has("old file states cannot be removed") || log.has("cannot be undone") {
		t.Errorf("the log = %q", log.all())
	}
	k.write("large.bin", strings.Repeat("x", snapshot.MaxFile+1))
	k.turn(k.session(), k.bash, func() {})
	if !log.has("too large, too many or not readable") {
		t.Errorf("after that warning, the log says nothing of a large file: %q", log.all())
	}
}
