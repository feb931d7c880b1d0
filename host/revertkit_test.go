package host_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/host"
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
	w.same(what, w.state(), want)
}

// acting is a tool whose calls run the function that the test sets, as a shell command would: it does not say what it writes.
type acting struct {
	id  string
	act func()
	// files are what it says it will write; metadata as the built-in tools give it.
	files []string
	// wait is called before the call runs, as the user's answer would be waited for.
	wait func()
}

func (a *acting) tool() *tool {
	return &tool{id: a.id,
		prepare: func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
			r := sdk.PermissionRequest{Permission: a.id, Patterns: []string{"x"}}
			if a.wait != nil {
				a.wait()
			}
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

// delegate sends a prompt for which a subagent runs a command that does act.
func (k *work) delegate(session string, act func()) {
	k.kit.t.Helper()
	k.bash.act = act
	k.model.on(sdk.PurposeTurn, call("task", `{"subagent_type":"helper","prompt":"do it"}`), say("ok"))
	k.model.on(sdk.PurposeSubtask, call("bash", `{}`), say("helper answered"))
	if _, err := k.Prompt(k.kit.t.Context(), host.PromptInput{SessionID: session, Text: "ask"}); err != nil {
		k.kit.t.Fatal(err)
	}
}
