package shell_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/sdk"
)

// repository lays a git directory with this configuration.
func repository(t *testing.T, git, config string) {
	t.Helper()
	for _, dir := range []string{"objects", "refs", "hooks"} {
		if err := os.MkdirAll(filepath.Join(git, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(git, "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(git, "config"), config)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// unjudged returns what of a command cannot be judged.
func (f *fixture) unjudged(t *testing.T, command string) (out []string) {
	t.Helper()
	_, bash := f.prepare(t, map[string]any{"command": command})
	if bash == nil {
		return nil
	}
	for _, p := range bash.Patterns {
		if text, ok := strings.CutPrefix(p, "unjudged: "); ok {
			out = append(out, text)
		}
	}
	return out
}

// TestGitConfiguration holds that no rule for git status lets a repository's configuration run something.
func TestGitConfiguration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, want string }{ // want: what is asked for, "" nothing
		"usual":            {"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote \"origin\"]\n\turl = git@h:a/b\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n", ""},
		"husky":            {"[core]\n\thooksPath = .husky\n", ""},
		"a builtin":        {"[core]\n\tfsmonitor = true\n", ""},
		"lfs":              {"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n", ""},
		"a plain alias":    {"[alias]\n\tst = status\n[credential]\n\thelper = store\n", ""},
		"fsmonitor":        {"[core]\n\tfsmonitor = ./x\n", "core.fsmonitor = ./x"},
		"on one line":      {"[core] fsmonitor=./x", "core.fsmonitor = ./x"},
		"case":             {"[CORE]\nFSMonitor = ./x\n", "core.fsmonitor = ./x"},
		"continued":        {"[core]\nfsmonitor = ./\\\nx\n", "core.fsmonitor = ./x"},
		"mark and returns": {"\ufeff[core]\r\n\tfsmonitor = ./x\r\n", "core.fsmonitor = ./x"},
		"quoted":           {"[core]\nfsmonitor = \"./x\"\n", "core.fsmonitor = ./x"},
		"an older section": {"[diff.a]\ntextconv = ./x\n", "diff.a.textconv = ./x"},
		"a bracket":        {"[diff \"a]b\"]\ntextconv = ./x\n", "diff.a]b.textconv = ./x"},
		"filter":           {"[filter \"a\"]\nclean = ./x\n", "filter.a.clean = ./x"},
		"not lfs":          {"[filter \"lfs\"]\nclean = git-lfs clean; ./x\n", "filter.lfs.clean = git-lfs clean; ./x"},
		"pager":            {"[pager]\nlog = ./x\n", "pager.log = ./x"},
		"alias":            {"[alias]\nx = !./x\n", "alias.x = !./x"},
		"include":          {"[include]\npath = ../x\n", "include.path = ../x"},
		"transport":        {"[remote \"o\"]\nurl = ext::./x\n", "remote.o.url = ext::./x"},
		"rewritten":        {"[url \"ext::./x\"]\ninsteadOf = https://\n", "url.ext::./x.insteadof = https://"},
		"elsewhere":        {"[core]\nworktree = /\n", "core.worktree = /"},
		"signatures":       {"[gpg \"ssh\"]\nprogram = ./x\n", "gpg.ssh.program = ./x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "bash")
			repository(t, filepath.Join(f.dir, ".git"), c.config)
			var want []string
			if c.want != "" {
				want = []string{c.want + " (" + filepath.Join(f.dir, ".git", "config") + ")"}
			}
			if got := f.unjudged(t, "git status"); !slices.Equal(got, want) {
				t.Errorf("unjudged: %q, want %q", got, want)
			}
			if got := f.unjudged(t, "ls; git --version"); got != nil {
				t.Errorf("without a repository's command: %q", got)
			}
		})
	}
}

// TestGitRepositories holds that the repository that git would find is judged, wherever it is.
func TestGitRepositories(t *testing.T) {
	t.Parallel()
	const bad = "[core]\nfsmonitor = ./x\n"
	for name, c := range map[string]struct {
		lay     func(t *testing.T, dir string)
		command string
		asks    bool
	}{
		"a bare one in the tree": {func(t *testing.T, dir string) { repository(t, filepath.Join(dir, "sub"), bad) }, "cd sub && git status", true},
		"by an option":           {func(t *testing.T, dir string) { repository(t, filepath.Join(dir, "sub"), bad) }, "git -C sub log", true},
		"not asked for":          {func(t *testing.T, dir string) { repository(t, filepath.Join(dir, "sub"), bad) }, "git log", false},
		"above":                  {func(t *testing.T, dir string) { repository(t, filepath.Join(dir, ".git"), bad) }, "mkdir a; cd a; git diff", true},
		"behind a wrapper":       {func(t *testing.T, dir string) { repository(t, filepath.Join(dir, ".git"), bad) }, "timeout 5 git diff", true},
		"in a script":            {func(t *testing.T, dir string) { repository(t, filepath.Join(dir, ".git"), bad) }, "bash -c 'git diff'", true},
		"a submodule": {func(t *testing.T, dir string) {
			repository(t, filepath.Join(dir, ".git", "modules", "a"), bad)
			repository(t, filepath.Join(dir, ".git"), "")
		}, "git status", true},
		"of a working tree": {func(t *testing.T, dir string) {
			repository(t, filepath.Join(dir, ".git"), "")
			write(t, filepath.Join(dir, ".git", "config.worktree"), bad)
		}, "git status", true},
		"an invalid one below": {func(t *testing.T, dir string) {
			repository(t, filepath.Join(dir, ".git"), bad)
			write(t, filepath.Join(dir, "sub", ".git", "config"), "")
		}, "cd sub && git status", true},
		"the place of submodules": {func(t *testing.T, dir string) {
			repository(t, filepath.Join(dir, ".git", "modules", "a"), "[core]\nworktree = ../../../a\n")
			repository(t, filepath.Join(dir, ".git"), "")
		}, "git status", false},
		"a hook": {func(t *testing.T, dir string) {
			repository(t, filepath.Join(dir, ".git"), "")
			write(t, filepath.Join(dir, ".git", "hooks", "post-index-change"), "#!/bin/sh\n")
		}, "git status", true},
		"a hook elsewhere": {func(t *testing.T, dir string) {
			repository(t, filepath.Join(dir, ".git"), "[core]\nhooksPath = h\n")
			write(t, filepath.Join(dir, "h", "post-index-change"), "#!/bin/sh\n")
		}, "git status", true},
		"a linked tree": {func(t *testing.T, dir string) {
			repository(t, filepath.Join(dir, "main", ".git"), bad)
			repository(t, filepath.Join(dir, "main", ".git", "worktrees", "a"), "")
			write(t, filepath.Join(dir, "main", ".git", "worktrees", "a", "commondir"), "../..\n")
			write(t, filepath.Join(dir, "sub", ".git"), "gitdir: ../main/.git/worktrees/a\n")
		}, "cd sub && git status", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "bash")
			c.lay(t, f.dir)
			if err := os.MkdirAll(filepath.Join(f.dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			if got := f.unjudged(t, c.command); (len(got) > 0) != c.asks {
				t.Errorf("%q: unjudged %q, want some: %v", c.command, got, c.asks)
			}
		})
	}
}

// TestGitConfigurationIsAskedOnce holds that what is offered for good names the setting and its file, not the command.
func TestGitConfigurationIsAskedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "bash")
	repository(t, filepath.Join(f.dir, ".git"), "[core]\nfsmonitor = ./x\n")
	for _, command := range []string{"git status", "git log -5"} {
		_, bash := f.prepare(t, map[string]any{"command": command})
		want := "unjudged: core.fsmonitor = ./x (" + filepath.Join(f.dir, ".git", "config") + ")"
		if bash == nil || !slices.Contains(bash.Always, want) {
			t.Errorf("%q offers %+v, want %q", command, bash, want)
		}
	}
	if rules := readers(); func() sdk.Action { a, _ := f.decide(t, rules, "git status"); return a }() == sdk.ActionAllow {
		t.Error("git status is allowed")
	}
}

// FuzzGitConfiguration holds that reading ends, and that what stands behind a text in a section of its own is found.
func FuzzGitConfiguration(f *testing.F) {
	for _, seed := range []string{"", "[core]\nfsmonitor = ./x", "[a \"b\\\"]c\"] d = \"e\\\nf\" # g", "[", "x\\", "[[", "\\\n\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := shell.GitPrograms(text + "\n\n[core]\nfsmonitor = ./x\n")
		if strings.ContainsAny(text, "[\\") {
			return // what git refuses may end the reading
		}
		if len(got) == 0 || got[len(got)-1] != "core.fsmonitor = ./x" {
			t.Errorf("%q: %q", text, got)
		}
	})
}
