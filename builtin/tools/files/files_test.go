package files_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/tools/files"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a worktree with the plugin at work in it, in one session.
type workbench struct {
	t       testing.TB
	root    string
	session string
	message string // of the calls
	callID  string
	plugin  sdk.Plugin
	host    sdk.ToolHost
}

func newBench(t testing.TB) *workbench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &workbench{t: t, root: root, session: "ses_1", plugin: files.New()}
}

func (b *workbench) path(name string) string { return filepath.Join(b.root, filepath.FromSlash(name)) }

func (b *workbench) put(name, content string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *workbench) want(name, content string) {
	b.t.Helper()
	got, err := os.ReadFile(b.path(name))
	if err != nil || string(got) != content {
		b.t.Errorf("%s = %q, %v, want %q", name, got, err, content)
	}
}

// wantNames checks that the worktree holds these files and directories and nothing else, such as
// temporary files.
func (b *workbench) wantNames(want ...string) {
	b.t.Helper()
	var got []string
	if err := filepath.WalkDir(b.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != b.root {
			rel, _ := filepath.Rel(b.root, path)
			got = append(got, filepath.ToSlash(rel))
		}
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.t.Errorf("the worktree holds %q, want %q", got, want)
	}
}

func (b *workbench) tool(id string) sdk.Tool {
	b.t.Helper()
	for _, tool := range b.plugin.(sdk.ToolSource).Tools() {
		if tool.Definition().ID == id {
			return tool
		}
	}
	b.t.Fatalf("no tool %q", id)
	return nil
}

func (b *workbench) call(id string, args sdk.Object) *sdk.ToolCall {
	b.t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	return &sdk.ToolCall{Tool: id, CallID: b.callID, Args: data, SessionID: b.session, MessageID: b.message, Directory: b.root, Worktree: b.root, Host: b.host}
}

// run prepares and executes a call as a host does.
func (b *workbench) run(id string, args sdk.Object) (*sdk.ToolResult, error) {
	b.t.Helper()
	call := b.call(id, args)
	if _, err := b.tool(id).(sdk.ToolPreparer).Prepare(context.Background(), call); err != nil {
		return nil, err
	}
	return b.tool(id).Execute(context.Background(), call)
}

func (b *workbench) must(id string, args sdk.Object) *sdk.ToolResult {
	b.t.Helper()
	result, err := b.run(id, args)
	if err != nil {
		b.t.Fatalf("%s: %v", id, err)
	}
	return result
}

// fails checks that the call is refused with all of the texts, by Prepare and by Execute.
func (b *workbench) fails(id string, args sdk.Object, texts ...string) {
	b.t.Helper()
	_, prepared := b.tool(id).(sdk.ToolPreparer).Prepare(context.Background(), b.call(id, args))
	result, executed := b.tool(id).Execute(context.Background(), b.call(id, args))
	if executed == nil {
		b.t.Fatalf("%s %v = %q, want an error with %q", id, args, result.Output, texts)
	}
	if id != "read" && id != "list" && prepared == nil {
		b.t.Errorf("%s %v: Prepare lets it pass, Execute says %v", id, args, executed)
	}
	for _, text := range texts {
		if !strings.Contains(executed.Error(), text) {
			b.t.Errorf("%s %v: error %q, want it to have %q", id, args, executed, text)
		}
	}
}

func (b *workbench) read(name string) *sdk.ToolResult {
	b.t.Helper()
	return b.must("read", sdk.Object{"filePath": name})
}

func (b *workbench) edit(name, old, new string) *sdk.ToolResult {
	b.t.Helper()
	return b.must("edit", sdk.Object{"filePath": name, "oldString": old, "newString": new})
}

func edit(name, old, new string) sdk.Object {
	return sdk.Object{"filePath": name, "oldString": old, "newString": new}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	total := 0
	for _, tool := range files.New().(sdk.ToolSource).Tools() {
		d := tool.Definition()
		size := len(d.Description) + len(d.Parameters)
		total += size
		if size > 900 || !json.Valid(d.Parameters) || !strings.Contains(string(d.Parameters), `"additionalProperties":false`) {
			t.Errorf("%s: %d bytes, parameters %s", d.ID, size, d.Parameters)
		}
	}
	t.Logf("%d bytes in all", total)
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{ // whether apply_patch takes the place of edit and write
		"gpt-5": true, "gpt-5.1-codex": true, "openai/gpt-6": true,
		"gpt-4.1": false, "gpt-4o": false, "gpt-oss-120b": false, "claude-x": false, "qwen3": false,
	}
	for model, patch := range tests {
		for _, tool := range files.New().(sdk.ToolSource).Tools() {
			want := true
			switch tool.Definition().ID {
			case "edit", "write":
				want = !patch
			case "apply_patch":
				want = patch
			}
			available, ok := tool.(sdk.ToolAvailability)
			if got := !ok || available.Available(&sdk.Model{ID: model}, nil); got != want {
				t.Errorf("%s for %s = %v, want %v", tool.Definition().ID, model, got, want)
			}
		}
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.put("a.txt", "one\n")
	b.put("sub/.env", "key\n")
	if err := os.Symlink("sub/.env", b.path("link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(outside, b.path("out")); err != nil {
		t.Fatal(err)
	}
	b.read("a.txt")
	tests := map[string]struct {
		id   string
		args sdk.Object
		want []string
	}{
		"read":           {"read", sdk.Object{"filePath": "a.txt"}, []string{"read a.txt"}},
		"read a link":    {"read", sdk.Object{"filePath": "link"}, []string{"read link sub/.env"}},
		"read an output": {"read", sdk.Object{"filePath": "tool-output/x"}, nil},
		"read outside":   {"read", sdk.Object{"filePath": "../x"}, []string{"external_directory " + filepath.Dir(b.root) + "/*", "read " + filepath.Dir(b.root) + "/x"}},
		"list":           {"list", sdk.Object{}, []string{"list ."}},
		"edit":           {"edit", edit("a.txt", "one", "two"), []string{"edit a.txt"}},
		"write":          {"write", sdk.Object{"filePath": "new/b.txt", "content": "x"}, []string{"edit new/b.txt"}},
		"write out":      {"write", sdk.Object{"filePath": "out/b.txt", "content": "x"}, []string{"external_directory " + outside + "/*", "edit out/b.txt " + outside + "/b.txt"}},
		"apply_patch": {"apply_patch", patch("*** Update File: a.txt", "*** Move to: out/c.txt", "-one", "+two", "*** Add File: b.txt", "+x"),
			[]string{"external_directory " + outside + "/*", "edit a.txt out/c.txt " + outside + "/c.txt b.txt"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			requests, err := b.tool(tt.id).(sdk.ToolPreparer).Prepare(context.Background(), b.call(tt.id, tt.args))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range requests {
				got = append(got, r.Permission+" "+strings.Join(r.Patterns, " "))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("requests = %q, want %q", got, tt.want)
			}
		})
	}
	requests, err := b.tool("edit").(sdk.ToolPreparer).Prepare(context.Background(), b.call("edit", edit("a.txt", "one", "two")))
	if err != nil {
		t.Fatal(err)
	}
	want := "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two\n"
	if got := requests[0].Metadata["diff"]; got != want {
		t.Errorf("diff = %q, want %q", got, want)
	}
	b.want("a.txt", "one\n")
	b.wantNames("a.txt", "link", "out", "sub", "sub/.env")
}

// The user is asked about a hook of git in another directory than .git.
func TestHooksOfGit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if out, err := exec.Command("git", "init", "-q", b.root).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	b.put(".git/config", "[core]\nhooksPath = scripts\n[core]\nrepositoryformatversion = 0\n")
	for id, args := range map[string]sdk.Object{
		"write":       {"filePath": "scripts/pre-commit", "content": "x"},
		"apply_patch": {"patchText": "*** Begin Patch\n*** Add File: scripts/pre-commit\n+x\n*** End Patch"},
	} {
		requests, err := b.tool(id).(sdk.ToolPreparer).Prepare(context.Background(), b.call(id, args))
		if err != nil || len(requests) != 1 || !slices.Equal(requests[0].Patterns, []string{"scripts/pre-commit", ".git/hooks/pre-commit"}) {
			t.Errorf("%s: requests %+v, %v", id, requests, err)
		}
	}
}
