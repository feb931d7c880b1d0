package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// editKey is the permission of all tools that change files.
const editKey = "edit"

// guardedDirs lists directories and files, by the end of their paths, that are executed, or control an agent, when the user only opens the folder,
// a shell or a session, uses git, or asks a tool for its version: hooks and configuration of git, tasks and settings of editors, instructions and
// configuration of agents, the user's own start-up files, files that name the program that a tool runs instead of itself.
var guardedDirs = []string{
	".git", ".husky", ".githooks", ".hg", ".jj", ".sl", ".lefthook", ".lefthook-local",
	".vscode", ".idea", ".fleet", ".zed", ".devcontainer", ".nvim",
	".tenon", ".opencode", ".claude", ".agents", ".cursor", ".windsurf", ".gemini", ".codex", ".kiro", ".roo", ".continue", ".qwen", ".junie", ".amazonq", ".trae",
	".ssh", ".direnv", ".mvn", ".config/tenon", ".config/fish", ".config/git", ".config/autostart", ".config/systemd", "Library/LaunchAgents",
	".config/mise", ".cargo/config", ".cargo/config.toml", "tools/bazel", "tools/bazel.ps1", "tools/bazel.bat", ".mise", "mise/config.toml",
}

// guardedFiles lists files of the same kinds, by name; the part before a * is a prefix, the part after it a suffix.
var guardedFiles = []string{
	".git", ".gitconfig", ".envrc", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".dir-locals.el", "*.code-workspace", ".devcontainer.json",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".xprofile", ".xinitrc", ".xsessionrc",
	"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "CONTEXT.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules", "copilot-instructions.md", "QWEN.md", ".goosehints", ".aider.conf.yml",
	".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook.jsonc", "lefthook-local.*", ".lefthook.*", ".lefthook-local.*", ".rvmrc",
	"rust-toolchain", "rust-toolchain.toml", ".yarnrc", ".yarnrc.yml", ".bazelversion", ".bazeliskrc", ".tool-versions",
	"mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml",
	"tenon.json", "tenon.jsonc", "tenon.lock", "tenon.db", ".mcp.json", "opencode.json", "opencode.jsonc", "crush.json", ".crush.json",
}

// plans lists directories of plans in guarded directories. No program reads plans automatically.
var plans = []string{"/.tenon/plans/", "/.opencode/plans/"}

// guarded returns the name in a path, with slashes, for which a change of the file asks even if all files may be edited; "" if there is none. It
// ignores case, as some systems do.
func guarded(file string) string {
	file = projectfs.Fold(path.Clean(file))
	whole := "/" + file + "/"
	for _, plan := range plans {
		whole = strings.Replace(whole, plan, "/plans/", 1)
	}
	for _, dir := range guardedDirs {
		if strings.Contains(whole, "/"+strings.ToLower(dir)+"/") {
			return dir
		}
	}
	base := path.Base(file)
	i := slices.IndexFunc(guardedFiles, func(name string) bool {
		prefix, suffix, _ := strings.Cut(strings.ToLower(name), "*")
		if !strings.Contains(name, "*") {
			return base == prefix
		}
		return strings.HasPrefix(base, prefix) && strings.HasSuffix(base, suffix)
	})
	if i < 0 {
		return ""
	}
	return guardedFiles[i]
}

// guard changes a decision about editing a guarded file to ask the user, unless a rule that names the guarded part allows it: .git/hooks/*
// does, * and src/* do not.
func guard(d Decision, permission, file string) Decision {
	if permission != editKey || d.Action == sdk.ActionDeny {
		return d
	}
	name := guarded(file)
	named := func() bool { // compared relative to the project, if the rule is about the project's files
		return strings.Contains(projectfs.Fold(d.by.request(permission, d.by.pattern.pattern)), strings.ToLower(strings.Trim(name, "*")))
	}
	if name == "" || d.Action == sdk.ActionAllow && named() {
		return d
	}
	d.Action, d.Final, d.Guarded = sdk.ActionAsk, true, name
	return d
}

const ownOrigin = defaultOrigin + " (tenon's own files)"

// ownFiles returns rules about tenon's directories of data and caches, which bind all others: what tenon and its plugins run, the approvals and
// the keys depend on the files there. Only providers and servers need the stored keys.
func ownFiles(p *sdk.Project) (rules sdk.PermissionRules) {
	add := func(permission, pattern string) {
		rules = append(rules, sdk.PermissionRule{Permission: permission, Pattern: pattern, Action: sdk.ActionAsk, Origin: ownOrigin})
	}
	for _, dir := range []string{p.DataDir, p.CacheDir} {
		if dir != "" {
			add(editKey, projectfs.Real(dir))
			add(editKey, filepath.Join(projectfs.Real(dir), "*"))
		}
	}
	if p.DataDir != "" {
		add("read", filepath.Join(projectfs.Real(p.DataDir), "credentials.json"))
	}
	return rules
}
