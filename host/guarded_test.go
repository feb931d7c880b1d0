package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// guardedEdit is a tool that edits a file with the permission edit, or a command that implies it.
func guardedEdit(file string, implied bool) *plugin {
	tl := &tool{id: "editor", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Output: "edited"}, nil
	}}
	tl.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
		if implied {
			return []sdk.PermissionRequest{{Permission: "bash", Patterns: []string{"echo"}, Implied: []sdk.ImpliedPermission{{Permission: "edit", Pattern: file}}}}, nil
		}
		return []sdk.PermissionRequest{{Permission: "edit", Patterns: []string{file}, Always: []string{"*"}}}, nil
	}
	b := base(newModel(nil, call("editor", `{}`), say("done")))
	b.tools = []sdk.Tool{tl}
	return b
}

// Nothing but a rule that names it or the user's answer lets a tool edit files that programs execute automatically: not a rule for everything,
// --auto, a plugin that allows, or an approval of everything.
func TestGuardedFiles(t *testing.T) {
	t.Parallel()
	everything := sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}
	allowing := func() *plugin {
		return &plugin{name: "gate", hooks: []sdk.Hook{sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
			return sdk.Decision{Verdict: sdk.VerdictAllow}, nil
		})}}
	}
	for name, c := range map[string]struct {
		file    string
		implied bool
		rules   sdk.PermissionRules
		want    string
	}{
		"another file":               {"src/a", false, everything, "edited"},
		"a hook of git":              {".git/hooks/pre-commit", false, everything, `{"permission": {"edit": {".git/hooks/pre-commit": "allow"}}}`},
		"implied by a command":       {".envrc", true, everything, `{"permission": {"edit": {".envrc": "allow"}}}`},
		"without a rule":             {"AGENTS.md", false, nil, "control agents"},
		"by a command, without rule": {"AGENTS.md", true, nil, "control agents"},
		"named":                      {".git/hooks/pre-commit", false, append(everything[:1:1], sdk.PermissionRule{Permission: "edit", Pattern: ".git/hooks/*", Action: sdk.ActionAllow}), "edited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t, func(o *host.Options) { o.AutoApprove, o.Config.Permission = true, c.rules }, guardedEdit(c.file, c.implied), allowing())
			project := permission.ApprovalProject(k.opts.Project)
			if err := k.store.Approve(t.Context(), []store.Approval{{Project: project, Permission: "edit", Pattern: "*"}, {Project: project, Permission: "bash", Pattern: "*"}}); err != nil {
				t.Fatal(err)
			}
			id := k.session()
			_, _ = k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if got := k.results(id)[0]; !strings.Contains(got, c.want) {
				t.Errorf("result = %q, want %q in it", got, c.want)
			}
		})
	}
}

// The user is asked, sees why, and is not offered "always".
func TestGuardedFilesAskTheUser(t *testing.T) {
	t.Parallel()
	k := start(t, func(o *host.Options) {
		asking(o)
		o.Config.Permission = sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}
	}, guardedEdit(".vscode/tasks.json", false))
	asked := answerAsks(t, k, func(p *sdk.PermissionRequest) error {
		if p.Metadata["guarded"] != ".vscode" || len(p.Always) > 0 {
			t.Errorf("request = %+v", p)
		}
		return k.ReplyPermission(p.ID, sdk.ReplyOnce, "")
	})
	id, _ := k.prompt("go")
	got := k.results(id)[0]
	if n := asked(); n != 1 || got != "edited" {
		t.Errorf("asked %d times, result %q", n, got)
	}
}
