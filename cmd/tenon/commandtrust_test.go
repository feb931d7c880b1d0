package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
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
		Project: sdk.Project{
			Directory: filepath.Join(root, "sub"), Worktree: root,
			Home: home, ConfigDir: filepath.Join(root, "conf"), // of a user who keeps their configuration in a repository
		},
		Loaded: &config.Loaded{ProjectFiles: map[string]string{filepath.Join(root, "tenon.json"): "digest"}, Origins: map[string]config.Origin{
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
		"configuration":   {sdk.Command{Name: "theirs", Origin: sdk.OriginConfiguration}, true},
		"the user's file": {sdk.Command{Name: "ours", Origin: sdk.OriginConfiguration}, false},
		"a hook's":        {sdk.Command{Name: "added", Origin: sdk.OriginConfiguration}, true},
	} {
		if got := p.trustCommand(&c.command); got.Repository != c.repository || got.Approved {
			t.Errorf("%s: %+v, want of the repository: %v", name, got, c.repository)
		}
	}
}

// TestApprovalOfMarkdown checks that the approval of a Markdown file is valid for the content that was read, and for no content that a plugin
// only claims to have read.
func TestApprovalOfMarkdown(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, ".tenon", "commands", "a.md")
	w := &cli.Workspace{Project: sdk.Project{Directory: root, Worktree: root}, Loaded: &config.Loaded{}}
	approved := strings.Repeat("a", 64)
	p := &projectRules{w: w, approved: map[string]bool{path + "@" + approved: true}}
	for digest, want := range map[string]bool{approved: true, strings.Repeat("b", 64): false, "": false} {
		c := &sdk.Command{Origin: ".tenon/commands/a.md", Template: "!`git log`", Digest: digest}
		if got := p.trustCommand(c); !got.Repository || got.Approved != want {
			t.Errorf("digest %.3q: %+v, want approved: %v", digest, got, want)
		}
		rule := sdk.PermissionRule{Permission: "bash", Pattern: "*", Action: sdk.ActionAllow, Origin: path, Digest: digest}
		if got := p.trust(rule.Origin, rule.Digest); !got.Repository || got.Approved != want {
			t.Errorf("digest %.3q: rule %+v, want approved: %v", digest, got, want)
		}
	}
	var c sdk.Command
	if err := json.Unmarshal([]byte(`{"name":"a","digest":"`+approved+`","Digest":"`+approved+`"}`), &c); err != nil || c.Digest != "" {
		t.Errorf("a plugin's command has the digest %q (%v)", c.Digest, err)
	}
}
