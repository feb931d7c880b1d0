package permission_test

import (
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Editing a file that programs execute automatically asks, and only a rule that names it allows it.
func TestGuardedFiles(t *testing.T) {
	t.Parallel()
	allow := func(pattern string) sdk.PermissionRules {
		return sdk.PermissionRules{{Permission: "edit", Pattern: pattern, Action: sdk.ActionAllow}}
	}
	for _, path := range []string{
		".git/hooks/pre-commit", ".git/config", "sub/.git/config", ".git", ".GIT/hooks/x", ".g\u200cit/config", ".v\u017fcode/tasks.json", "./.git/config", "a/../.git/config", `.git\hooks\x`, ".envrc", "sub/.envrc",
		".vscode/tasks.json", ".idea/workspace.xml", "x.code-workspace", ".husky/pre-commit", ".githooks/x", "AGENTS.md", "sub/CLAUDE.md", "agents.md", "rust-toolchain.toml", ".mvn/jvm.config", ".cargo/config.toml", "tools/bazel", ".bazelversion", "mise.toml",
		".tenon/tenon.json", ".tenon/agents/a.md", "tenon.json", ".claude/settings.json", ".cursorrules", ".mcp.json", "/home/u/.bashrc", "/home/u/.ssh/authorized_keys",
		"/home/u/.config/tenon/agents/x.md", "/home/u/.config/fish/config.fish", ".devcontainer/devcontainer.json", ".hg/hgrc", ".jj/repo/config.toml", ".tenon/plans/.git/config", ".tenon/plans/AGENTS.md", ".github/copilot-instructions.md",
		"opencode.json", ".codex/config.toml", ".kiro/settings/mcp.json", ".pre-commit-config.yaml", "lefthook.yml",
	} {
		for _, rules := range []sdk.PermissionRules{
			nil, allow("*"), allow("**"), allow("?*"), {{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}, {{Permission: "edit", Pattern: "*", Action: sdk.ActionAsk}},
		} {
			d := permission.Compile("", rules).Decide("edit", path)
			if d.Action != sdk.ActionAsk || !d.Final || d.Guarded == "" {
				t.Errorf("edit %q under %v: %+v, want it asked of the user", path, rules, d)
			}
		}
		for _, rules := range []sdk.PermissionRules{allow(path), append(allow("*"), allow(path)...)} {
			if d := permission.Compile("", rules).Decide("edit", path); d.Action != sdk.ActionAllow {
				t.Errorf("edit %q under a rule that names it: %+v", path, d)
			}
		}
		if d := permission.Compile("", append(allow(path), sdk.PermissionRule{Permission: "edit", Pattern: "*", Action: sdk.ActionDeny})).Decide("edit", path); d.Action != sdk.ActionDeny {
			t.Errorf("edit %q, denied: %+v", path, d)
		}
		if d := permission.Compile("", sdk.PermissionRules{{Permission: "read", Pattern: "*", Action: sdk.ActionAllow}}).Decide("read", path); d.Action != sdk.ActionAllow {
			t.Errorf("read %q: %+v", path, d)
		}
	}
	for _, path := range []string{"src/x.go", ".gitignore", ".github/workflows/ci.yml", "git/config", "docs/AGENTS.md.txt", "my.git/x", "vscode/tasks.json", ".env", ".", ".tenon/plans/p.md", "tools/bazel.go", "Cargo.toml", "promise.toml"} {
		if d := permission.Compile("", allow("*")).Decide("edit", path); d.Action != sdk.ActionAllow {
			t.Errorf("edit %q: %+v, want it allowed", path, d)
		}
	}
	if d := permission.Compile("", allow("src/*")).Decide("edit", "src/.envrc"); d.Action != sdk.ActionAsk {
		t.Errorf("a rule for the folder above: %+v", d)
	}
	if d := permission.Compile("", append(allow("*"), allow(".git/hooks/*")...)).Decide("edit", ".git/hooks/pre-commit"); d.Action != sdk.ActionAllow {
		t.Errorf("a rule for the folder: %+v", d)
	}
}

// Implied operations count: a command that writes there needs the same approval as the edit, whatever allows the command.
func TestGuardedFilesImplied(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]sdk.PermissionRules{
		"everything is allowed": {{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}},
		"commands ask":          {{Permission: "edit", Pattern: "*", Action: sdk.ActionAllow}},
		"nothing is said":       nil,
	} {
		d := permission.Compile("", rules).DecideRequest(&permission.Request{
			Permission: "bash", Patterns: []string{"echo x"}, Implied: []sdk.ImpliedPermission{{Permission: "edit", Pattern: ".git/hooks/pre-commit"}},
		})
		if d.Action != sdk.ActionAsk || !d.Final {
			t.Errorf("%s: %+v, want it asked of the user", name, d)
		}
	}
}

// The same applies to a subagent and to an agent with its own rules; a rule of the user that names the file applies to them, too.
func TestGuardedFilesOfSubagents(t *testing.T) {
	t.Parallel()
	all := permission.Compile("", sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}})
	named := permission.Compile("", sdk.PermissionRules{{Permission: "edit", Pattern: "AGENTS.md", Action: sdk.ActionAllow}})
	if d := permission.Child(all, named).Decide("edit", "AGENTS.md"); d.Action != sdk.ActionAllow {
		t.Errorf("bounds that allow everything and a rule that names it: %+v", d)
	}
	if d := permission.Child(all, all).Decide("edit", "AGENTS.md"); d.Action != sdk.ActionAsk {
		t.Errorf("rules that allow everything: %+v", d)
	}
}

// A tool changes tenon's data and caches, and reads the stored keys, only if the user answers, whatever rules allow; nor does a command of which
// tenon knows that it does. A search does not show the keys.
func TestOwnFiles(t *testing.T) {
	t.Parallel()
	dir := projectfs.Real(t.TempDir())
	in := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
	p := permission.Policy{Project: sdk.Project{Home: dir, Worktree: in("app"), DataDir: in("share/tenon"), CacheDir: in("cache/tenon")}}
	all := rules("*", "*", "allow", "edit", in("share/*"), "allow", "read", in("share/*"), "allow")
	for _, of := range []*permission.Rules{
		p.Rules(permission.Sources{General: all}, false),
		permission.Child(p.Rules(permission.Sources{General: all}, false), p.Rules(permission.Sources{Agent: all}, false)),
	} {
		for _, c := range []struct {
			permission, path string
			want             sdk.Action
		}{
			{"edit", "share/tenon/snapshots/x/config", ask}, {"edit", "share/tenon/plugins/store/x/a.wasm", ask}, {"edit", "cache/tenon/x.native", ask},
			{"edit", "share/tenon", ask}, {"read", "share/tenon/credentials.json", ask}, {"edit", "share/other", allow}, {"edit", "share/tenon2", allow},
		} {
			if d := of.Decide(c.permission, in(c.path)); d.Action != c.want || c.want == ask && !d.Final {
				t.Errorf("Decide(%s, %s) = %+v, want %s", c.permission, c.path, d, c.want)
			}
			for _, maybe := range []bool{false, true} {
				q := permission.Request{Permission: "bash", Patterns: []string{"cp a b"}, Implied: []sdk.ImpliedPermission{{Permission: c.permission, Pattern: in(c.path), Maybe: maybe}}}
				if d := of.DecideRequest(&q); d.Action != c.want || c.want == ask && !d.Final {
					t.Errorf("a command that needs %s for %s, maybe: %t: %+v, want %s", c.permission, c.path, maybe, d, c.want)
				}
			}
		}
		if !of.DeniesByName("read", in("share/tenon/credentials.json")) || of.DeniesByName("read", in("share/tenon/tenon.db")) {
			t.Error("a search shows the stored keys, or leaves out too much")
		}
	}
	q := permission.Request{Permission: "bash", Patterns: []string{"cp a b"}, Implied: []sdk.ImpliedPermission{{Permission: "edit", Pattern: in("share/tenon/x")}}}
	if d := p.Rules(permission.Sources{}, false).DecideRequest(&q); d.Action != ask || !d.Final {
		t.Errorf("a command that asks anyway: %+v, want a question that only the user answers", d)
	}
	strict := p.Rules(permission.Sources{Strict: true, Agent: rules("read", "*", "allow", "read", "*.env", "ask")}, false)
	if strict.DeniesByName("read", ".env") {
		t.Error("a search leaves out files that an agent's rules ask for")
	}
	p.Project.DataDir, p.Managed = in("app/.data"), rules("edit", "*", "deny")
	if d := p.Rules(permission.Sources{General: all}, false).Decide("edit", ".data/x"); d.Action != deny {
		t.Errorf("an administrator's denial: %+v", d)
	}
	p.Managed = nil
	if d := p.Rules(permission.Sources{General: all}, false).Decide("edit", ".data/x"); d.Action != ask || !d.Final {
		t.Errorf("a data directory in the project: %+v", d)
	}
}
