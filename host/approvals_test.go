package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// touching returns a model that calls touch for the path and is done.
func touching(p string) *plugin {
	b := base(newModel(nil, calls(path(p)), say("done")))
	b.tools = []sdk.Tool{touch(false)}
	return b
}

// TestAlwaysIsKept answers "always" once: the answer applies in the next process and in a concurrent one, until it is forgotten.
func TestAlwaysIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startIn(t, dir, asking, touching("src/a"))
	asked := answerAsks(t, first, reply(&first, sdk.ReplyAlways, ""))
	id, _ := first.prompt("go")
	beside := startIn(t, dir, func(o *host.Options) { o.Config.Permission = nil }, touching("src/b"))
	if n := asked(); n != 1 {
		t.Fatalf("asked %d times, want 1", n)
	}
	kept, err := beside.store.Approvals(t.Context(), permission.ApprovalProject(first.opts.Project))
	if err != nil || len(kept) != 1 {
		t.Fatalf("Approvals = %v, %v, want one", kept, err)
	}
	a := kept[0]
	if a.Permission != "touch" || a.Pattern != "src/*" || a.Session != id || a.Origin != "src/a" || a.Created == 0 {
		t.Errorf("approval = %+v", a)
	}

	id, _ = beside.prompt("go")
	want(t, "beside", "touched", beside.results(id)[0])

	if _, err := beside.store.Forget(t.Context(), a.Project, a.ID); err != nil {
		t.Fatal(err)
	}
	after := startIn(t, dir, func(o *host.Options) { o.Config.Permission = nil }, touching("src/b"))
	id, _ = after.prompt("go")
	if got := after.results(id)[0]; !strings.Contains(got, "no user can answer") {
		t.Errorf("after it was forgotten: %q", got)
	}
}

// TestApprovalsOfAnotherProject: they do not apply.
func TestApprovalsOfAnotherProject(t *testing.T) {
	t.Parallel()
	k := start(t, func(o *host.Options) { o.Config.Permission = nil }, touching("src/a"))
	if err := k.store.Approve(t.Context(), []store.Approval{{Project: "other", Permission: "touch", Pattern: "*"}}); err != nil {
		t.Fatal(err)
	}
	id, _ := k.prompt("go")
	if got := k.results(id)[0]; !strings.Contains(got, "no user can answer") {
		t.Errorf("result = %q", got)
	}
}

// TestApprovalProject: the name "global", which all projects without a commit have, must not make one of them.
func TestApprovalProject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b sdk.Project
		same bool
	}{
		"worktrees of a repository":   {sdk.Project{ID: "abc", Worktree: "/a", Git: true}, sdk.Project{ID: "abc", Worktree: "/b", Git: true}, true},
		"repositories":                {sdk.Project{ID: "abc", Worktree: "/a", Git: true}, sdk.Project{ID: "def", Worktree: "/a", Git: true}, false},
		"repositories without commit": {sdk.Project{ID: "global", Worktree: "/a", Git: true}, sdk.Project{ID: "global", Worktree: "/b", Git: true}, false},
		"below one without commit":    {sdk.Project{ID: "global", Worktree: "/a", Directory: "/a/x", Git: true}, sdk.Project{ID: "global", Worktree: "/a", Git: true}, true},
		"directories":                 {sdk.Project{ID: "global", Worktree: "/a"}, sdk.Project{ID: "global", Worktree: "/b"}, false},
	} {
		a, b := permission.ApprovalProject(c.a), permission.ApprovalProject(c.b)
		if (a == b) != c.same {
			t.Errorf("%s: approvals are kept under %q and %q, want the same name: %t", name, a, b, c.same)
		}
	}
}

// TestNothingBeatsARule tests approvals, --auto and a hook that allows against rules that they must not override.
func TestNothingBeatsARule(t *testing.T) {
	t.Parallel()
	allow := sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
		return sdk.Decision{Verdict: sdk.VerdictAllow}, nil
	})
	rule := func(action sdk.Action) sdk.PermissionRules {
		return sdk.PermissionRules{{Permission: "touch", Pattern: "src/*", Action: action, Origin: "/etc/tenon/tenon.json:3"}}
	}
	for name, c := range map[string]struct {
		change func(*host.Options)
		want   string
	}{
		"the user's deny":       {func(o *host.Options) { o.Config.Permission = rule(sdk.ActionDeny) }, "is denied"},
		"an administrator's":    {func(o *host.Options) { o.Policy.Managed = rule(sdk.ActionDeny) }, "by the rule at /etc/tenon/tenon.json:3"},
		"what it must ask for":  {func(o *host.Options) { o.Policy.Managed = rule(sdk.ActionAsk) }, "no user can answer"},
		"what it leaves to us":  {func(o *host.Options) { o.Policy.Managed = rule(sdk.ActionAllow) }, "touched"},
		"without any such rule": {func(*host.Options) {}, "touched"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t, func(o *host.Options) { o.AutoApprove = true; c.change(o) }, touching("src/a"), &plugin{name: "gate", hooks: []sdk.Hook{allow}})
			project := permission.ApprovalProject(k.opts.Project)
			if err := k.store.Approve(t.Context(), []store.Approval{{Project: project, Permission: "touch", Pattern: "src/*"}}); err != nil {
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

// TestImpliedRules tests a request that includes another one.
func TestImpliedRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit sdk.PermissionRule
		want string
	}{
		"denied":        {sdk.PermissionRule{Permission: "edit", Pattern: "a", Action: sdk.ActionDeny}, "is denied"},
		"asked by name": {sdk.PermissionRule{Permission: "edit", Pattern: "a*", Action: sdk.ActionAsk}, "no user can answer"},
		"asked for all": {sdk.PermissionRule{Permission: "edit", Pattern: "*", Action: sdk.ActionAsk}, "ran"},
		"another":       {sdk.PermissionRule{Permission: "edit", Pattern: "b", Action: sdk.ActionDeny}, "ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := &tool{id: "write_it", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
				return &sdk.ToolResult{Output: "ran"}, nil
			}}
			tl.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
				return []sdk.PermissionRequest{{Permission: "bash", Patterns: []string{"x"}, Implied: []sdk.ImpliedPermission{{Permission: "edit", Pattern: "a"}}}}, nil
			}
			b := base(newModel(nil, call("write_it", `{}`), say("done")))
			b.tools = []sdk.Tool{tl}
			k := start(t, func(o *host.Options) { o.Config.Permission = append(o.Config.Permission, c.edit) }, b)
			id := k.session()
			_, _ = k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			if got := k.results(id)[0]; !strings.Contains(got, c.want) {
				t.Errorf("result = %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestApprovalOfCommand: the approval of a command does not answer a question about a file that the command reads.
func TestApprovalOfCommand(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"notes.txt": "ran", ".env": "no user can answer"} {
		tl := &tool{id: "run_it", run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Output: "ran"}, nil
		}}
		tl.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) {
			return []sdk.PermissionRequest{{Permission: "bash", Patterns: []string{"cat " + file}, Implied: []sdk.ImpliedPermission{{Permission: "read", Pattern: file}}}}, nil
		}
		b := base(newModel(nil, call("run_it", `{}`), say("done")))
		b.tools = []sdk.Tool{tl}
		k := start(t, func(o *host.Options) { o.Config.Permission = nil }, b)
		approval := store.Approval{Project: permission.ApprovalProject(k.opts.Project), Permission: "bash", Pattern: "cat *"}
		if err := k.store.Approve(t.Context(), []store.Approval{approval}); err != nil {
			t.Fatal(err)
		}
		id := k.session()
		_, _ = k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		if got := k.results(id)[0]; !strings.Contains(got, want) {
			t.Errorf("%s: result = %q, want %q in it", file, got, want)
		}
	}
}

// TestUntrustedRules tests rules whose file the user did not approve.
func TestUntrustedRules(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{true, false} {
		k := start(t, func(o *host.Options) {
			o.Policy.Trust = func(string, string) permission.Trust { return permission.Trust{Repository: true, Approved: trusted} }
		}, touching("src/a"))
		id := k.session()
		_, _ = k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
		if got := k.results(id)[0]; (got == "touched") != trusted {
			t.Errorf("trusted %v: result = %q", trusted, got)
		}
	}
}

// TestSubagentWithinParent lets a subagent ask for what its parent may not do, with an approval for it.
func TestSubagentWithinParent(t *testing.T) {
	t.Parallel()
	for parent, want := range map[sdk.Action]string{sdk.ActionDeny: "is denied", sdk.ActionAsk: "touched", sdk.ActionAllow: "touched"} {
		t.Run(string(parent), func(t *testing.T) {
			t.Parallel()
			m := newModel(nil, call("sub", `{}`))
			m.on(sdk.PurposeSubtask, calls(path("src/a"))).on(sdk.PurposeSubtask, say("done"))
			m.on(sdk.PurposeTurn, say("done"))
			b := base(m)
			sub := &tool{id: "sub", run: func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
				r, err := call.Host.(sdk.Subtasker).Subtask(ctx, sdk.Subtask{Agent: "helper", Description: "d", Prompt: "p"})
				if err != nil {
					return nil, err
				}
				return &sdk.ToolResult{Output: fmt.Sprint(r)}, nil
			}}
			b.tools = []sdk.Tool{touch(false), sub}
			for i := range b.agents {
				switch b.agents[i].Name {
				case "helper":
					b.agents[i].Permission = sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}
				case sdk.AgentBuild:
					b.agents[i].Permission = sdk.PermissionRules{{Permission: "sub", Pattern: "*", Action: sdk.ActionAllow}, {Permission: "touch", Pattern: "src/*", Action: parent}}
				}
			}
			k := start(t, func(o *host.Options) { o.Config.Permission = nil }, b)
			project := permission.ApprovalProject(k.opts.Project)
			if err := k.store.Approve(t.Context(), []store.Approval{{Project: project, Permission: "touch", Pattern: "*"}}); err != nil {
				t.Fatal(err)
			}
			id := k.session()
			_, _ = k.Prompt(t.Context(), host.PromptInput{SessionID: id, Text: "go"})
			children, err := k.store.Sessions(t.Context(), store.Query{ParentID: id})
			if err != nil || len(children) != 1 {
				t.Fatalf("%d subagents, %v; results %q", len(children), err, k.results(id))
			}
			if got := k.results(children[0].ID); len(got) != 1 || !strings.Contains(got[0], want) {
				t.Errorf("the subagent's result = %q, want %q in it", got, want)
			}
		})
	}
}
