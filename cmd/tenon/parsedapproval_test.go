package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
)

// TestApprovalOfParsedBytes checks that a configuration file is approved by the content that was parsed: a file that is exchanged
// after that, and back, does not lend its approval to what was parsed.
func TestApprovalOfParsedBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.json")
	load := func(content string) *cli.Workspace {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := config.Load(t.Context(), config.Options{Directory: dir, Worktree: dir, Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return &cli.Workspace{Loaded: loaded, Project: sdk.Project{Directory: dir, Worktree: dir}}
	}
	const harmless = `{"permission": {"bash": {"git status": "allow"}}}`
	approved := &projectRules{approved: map[string]bool{approvalKey(load(harmless), path, ""): true}}
	if approved.w = load(harmless); !approved.isApproved(path, "") {
		t.Error("the approved content is not approved")
	}
	for file, digest := range map[string]string{path + "x": "", "": "1"} {
		if key := approvalKey(approved.w, file, digest); key != "" {
			t.Errorf("file %q with the digest %q can be approved as %q", file, digest, key)
		}
	}
	approved.w = load(`{"permission": {"bash": "allow"}}`)
	if err := os.WriteFile(path, []byte(harmless), 0o600); err != nil {
		t.Fatal(err)
	}
	if approved.isApproved(path, "") {
		t.Error("rules are approved by a file that was exchanged after they were parsed")
	}
	template := func(text string) string {
		if err := os.WriteFile(filepath.Join(dir, "t.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return approvalKey(load(`{"command": {"c": {"template": "{file:t.md}"}}}`), path, "")
	}
	if template("!`echo a`") == template("!`echo b`") {
		t.Error("the approval of a file does not cover the text that it refers to")
	}
}
