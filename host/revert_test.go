package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// worktree is a repository that a session works in, beside its data.
type worktree struct {
	t   testing.TB
	dir string
}

func newWorktree(t testing.TB) *worktree {
	t.Helper()
	w := &worktree{t: t, dir: filepath.Join(t.TempDir(), "work")}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "init", "-q", w.dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return w
}

func (w *worktree) path(name string) string { return filepath.Join(w.dir, name) }

func (w *worktree) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *worktree) remove(name string) {
	w.t.Helper()
	if err := os.Remove(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// state is every file by its name, with its content.
func (w *worktree) state() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(w.dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(name)
		rel, relErr := filepath.Rel(w.dir, name)
		out[filepath.ToSlash(rel)] = string(content)
		return errors.Join(err, relErr)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *worktree) is(what string, want map[string]string) {
	w.t.Helper()
	got := w.state()
	for name, content := range want {
		if is, ok := got[name]; !ok || is != content {
			w.t.Errorf("%s: %s = %q, %t, want %q", what, name, is, ok, content)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			w.t.Errorf("%s: %s is there and should not", what, name)
		}
	}
}

// acting is a tool whose calls run the function that the test sets, as a shell command would: nobody knows what it writes.
type acting struct {
	id  string
	act func()
	// files are what it says it will write; metadata as the built-in tools give it.
	files []string
}

func (a *acting) tool() *tool {
	return &tool{id: a.id,
		prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
			r := sdk.PermissionRequest{Permission: a.id, Patterns: []string{"x"}}
			if a.files != nil {
				r.Metadata = sdk.Object{"files": a.files}
			}
			return []sdk.PermissionRequest{r}, nil
		},
		run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
			a.act()
			return &sdk.ToolResult{Output: "done"}, nil
		},
	}
}

// work is a host in a worktree with a shell and an edit tool.
type work struct {
	*kit
	*worktree
	bash, edit *acting
	model      *model
}

func newWork(t testing.TB, change func(*host.Options)) *work {
	w := newWorktree(t)
	return startWork(t, w, t.TempDir(), change)
}

func startWork(t testing.TB, w *worktree, data string, change func(*host.Options)) *work {
	t.Helper()
	k := &work{worktree: w, bash: &acting{id: "bash"}, edit: &acting{id: "edit"}, model: newModel(t)}
	tools := &plugin{name: "tools", tools: []sdk.Tool{k.bash.tool(), k.edit.tool(), echo("read"), task()}}
	k.kit = startIn(t, data, func(o *host.Options) {
		o.Project.Directory, o.Project.Worktree, o.Project.Git, o.Project.Home = w.dir, w.dir, true, ""
		if change != nil {
			change(o)
		}
	}, base(k.model), tools)
	return k
}

// turn runs a turn with one call of a tool that does what act says.
func (k *work) turn(session string, a *acting, act func(), files ...string) {
	k.kit.t.Helper()
	a.act, a.files = act, files
	k.model.on(sdk.PurposeTurn, call(a.id, `{}`), say("ok"))
	if _, err := k.Prompt(k.kit.t.Context(), host.PromptInput{SessionID: session, Text: "go on"}); err != nil {
		k.kit.t.Fatal(err)
	}
}

func (k *work) revert(o host.RevertOptions) *host.Reverted {
	k.kit.t.Helper()
	r, err := k.Revert(k.kit.t.Context(), o)
	if err != nil {
		k.kit.t.Fatalf("Revert(%+v) = %v", o, err)
	}
	return r
}

func (k *work) unrevert(session string) *host.Reverted {
	k.kit.t.Helper()
	r, err := k.Unrevert(k.kit.t.Context(), session, false)
	if err != nil {
		k.kit.t.Fatalf("Unrevert(%s) = %v", session, err)
	}
	return r
}

// Files and messages go back together and come back together.
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
	if !slices.Equal(r.Files, []string{"a.txt", "dir/new.txt"}) || r.Messages != 6 {
		t.Errorf("Revert() again = %+v, want two files and 6 messages", r)
	}
	k.is("after two reverts", first)
	if _, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id}); !errors.Is(err, host.ErrNothing) {
		t.Errorf("Revert() of everything = %v, want ErrNothing", err)
	}
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

// What somebody else changed since is neither overwritten nor lost.
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

// What a subagent did goes back with the prompt that asked for it.
func TestRevertSubagent(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	id := k.session()
	k.bash.act = func() { k.write("a.txt", "two") }
	k.model.on(sdk.PurposeTurn, call("task", `{"subagent_type":"helper","prompt":"do it"}`), say("ok"))
	k.model.on(sdk.PurposeSubtask, call("bash", `{}`), say("done"))
	if _, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "ask"}); err != nil {
		t.Fatal(err)
	}
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after the revert", map[string]string{"a.txt": "one"})
	k.unrevert(id)
	k.is("after unrevert", map[string]string{"a.txt": "two"})
}

// Without snapshots messages go back alone, and a reading tool takes none.
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
			k := newWork(t, change)
			id := k.session()
			k.turn(id, k.bash, func() { k.write("a.txt", "two") })
			r := k.revert(host.RevertOptions{SessionID: id})
			if len(r.Files) != 0 || r.Messages != 3 {
				t.Errorf("Revert() = %+v, want no file and 3 messages", r)
			}
			k.is("after the revert", map[string]string{"a.txt": "two"})
			if _, err := os.Stat(filepath.Join(k.kit.dir, "snapshots")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("snapshots = %v, want none", err)
			}
		})
	}
	t.Run("reading tool", func(t *testing.T) {
		t.Parallel()
		k := newWork(t, nil)
		k.model.on(sdk.PurposeTurn, call("read", `{}`), say("ok"))
		k.prompt("read it")
		if _, err := os.Stat(filepath.Join(k.kit.dir, "snapshots")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("snapshots = %v, want none", err)
		}
	})
}

// Files of the same names in another project are other files.
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

func TestRevertBusy(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	id := k.session()
	begun, hold := make(chan struct{}), make(chan struct{})
	k.model.on(sdk.PurposeTurn, answer{text: "wait", begun: begun, hold: hold})
	done := make(chan error, 1)
	go func() {
		_, err := k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		done <- err
	}()
	<-begun
	reverted := make(chan error, 1)
	go func() {
		_, err := k.Revert(t.Context(), host.RevertOptions{SessionID: id})
		reverted <- err
	}()
	close(hold)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// It came while the turn ran, or just after it.
	if err := <-reverted; err != nil && !errors.Is(err, host.ErrBusy) {
		t.Errorf("Revert() of a busy session = %v, want nil or ErrBusy", err)
	}
}

// rounds is how many rounds a random test takes.
func rounds(t testing.TB, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// A session and its user edit side by side. After revert and unrevert everything is as it was, and what the session did not touch
// stays as the user left it all the time.
func TestRevertRandom(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	for round := range rounds(t, "TENON_REVERT_ROUNDS", 50) {
		k.randomRound(rand.New(rand.NewPCG(1, uint64(round))), round)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

func (k *work) randomRound(r *rand.Rand, round int) {
	id := k.session()
	start := k.state()
	mine := map[string]bool{}
	for step := range 1 + r.IntN(3) {
		k.turn(id, k.bash, func() {
			for i := range 1 + r.IntN(4) {
				name := fmt.Sprintf("session/%d/%d.txt", r.IntN(3), r.IntN(6))
				mine[name] = true
				k.scribble(r, name, fmt.Sprintf("session %d %d %d\r\n", round, step, i))
			}
		})
		for i := range r.IntN(4) { // the user, between two steps
			k.scribble(r, fmt.Sprintf("user/%d/%d.txt", r.IntN(3), r.IntN(6)), fmt.Sprintf("user %d %d %d\n", round, step, i))
		}
	}
	end := k.state()
	want := map[string]string{}
	for name, content := range end {
		if !mine[name] {
			want[name] = content
		}
	}
	for name, content := range start {
		if mine[name] {
			want[name] = content
		}
	}
	k.revert(host.RevertOptions{SessionID: id, MessageID: k.messages(id)[0].Info.Head().ID})
	k.is("after revert", want)
	extra := fmt.Sprintf("user/late%d.txt", r.IntN(3))
	k.write(extra, "late")
	k.unrevert(id)
	end[extra] = "late"
	k.is("after unrevert", end)
}

// scribble writes a file anew or removes it.
func (k *work) scribble(r *rand.Rand, name, content string) {
	if _, err := os.Stat(k.path(name)); err == nil && r.IntN(3) == 0 {
		k.remove(name)
		return
	}
	k.write(name, content)
}

// A fork has the messages before a point, under new names, and goes on by itself.
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
