package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

// TestCommandTrust: what lies in the project came with the repository, however its place is written.
func TestCommandTrust(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	root := filepath.Join(home, "p")
	w := &cli.Workspace{
		Dirs:    cli.Dirs{Home: home, Config: filepath.Join(root, "conf")}, // of a user who keeps their configuration in a repository
		Project: sdk.Project{Directory: filepath.Join(root, "sub"), Worktree: root},
		Loaded: &config.Loaded{ProjectFiles: []string{filepath.Join(root, "tenon.json")}, Origins: map[string]config.Origin{
			"command.theirs.template": {Source: filepath.Join(root, "tenon.json"), Line: 3},
			"command.ours.template":   {Source: filepath.Join(root, "conf", "tenon.json"), Line: 3},
		}},
	}
	p := &projectRules{w: w}
	for name, c := range map[string]struct {
		command    sdk.Command
		repository bool
	}{
		"relative":        {sdk.Command{Origin: ".tenon/commands/a.md"}, true},
		"below home":      {sdk.Command{Origin: filepath.Join("~", "p", ".opencode", "command", "a.md")}, true},
		"absolute":        {sdk.Command{Origin: filepath.Join(root, ".tenon", "commands", "a.MD")}, true},
		"the user's":      {sdk.Command{Origin: filepath.Join("~", "p", "conf", "commands", "a.md")}, false},
		"elsewhere":       {sdk.Command{Origin: filepath.Join("~", "other", "a.md")}, false},
		"built in":        {sdk.Command{Origin: "built in"}, false},
		"configuration":   {sdk.Command{Name: "theirs", Origin: inConfiguration}, true},
		"the user's file": {sdk.Command{Name: "ours", Origin: inConfiguration}, false},
		"a hook's":        {sdk.Command{Name: "added", Origin: inConfiguration}, true},
	} {
		if got := p.trustCommand(&c.command); got.Repository != c.repository || got.Approved {
			t.Errorf("%s: %+v, want of the repository: %v", name, got, c.repository)
		}
	}
}

// TestCommandIsApprovedAsItIs: an approval holds for the content of the file, and for the template that was read from it.
func TestCommandIsApprovedAsItIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, ".tenon", "commands", "a.md")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("---\r\ndescription: x\r\n---\r\nOne.\r\n!`git log`\r\n")
	w := &cli.Workspace{Project: sdk.Project{Directory: root, Worktree: root}, Loaded: &config.Loaded{}}
	key, err := approvalKey(w, path)
	if err != nil {
		t.Fatal(err)
	}
	p := &projectRules{w: w, approved: map[string]bool{key: true}}
	read := &sdk.Command{Origin: ".tenon/commands/a.md", Template: "One.\n!`git log`"}
	if got := p.trustCommand(read); !got.Approved {
		t.Errorf("approved: %+v", got)
	}
	if got := p.trustCommand(&sdk.Command{Origin: read.Origin, Template: "!`rm a`"}); got.Approved || !got.Repository {
		t.Errorf("another template than the file holds: %+v", got)
	}
	write("One.\n!`git log` !`rm a`")
	if got := p.trustCommand(read); got.Approved {
		t.Errorf("the file changed: %+v", got)
	}
}
