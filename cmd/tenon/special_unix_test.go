//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Named pipes, devices and links out of the project in place of a repository's files neither hang a run nor reach it.
func TestHostileProjectFiles(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "tenon.json")
	if err := os.WriteFile(secret, []byte(`{"username": "SECRET", "mcpServers": {"SECRET": {"command": "x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	makers := map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"link":   func(path string) error { return os.Symlink(secret, path) },
	}
	for _, name := range []string{"AGENTS.md", ".mcp.json", ".tenon/agents/a.md", ".tenon/commands/c.md", ".tenon/skills/s/SKILL.md", ".ignore"} {
		for kind, create := range makers {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, "")
				p.env = append(p.env[:len(p.env)-1], `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
				path := filepath.Join(p.work, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := create(path); err != nil {
					t.Fatal(err)
				}
				out, errs := p.output(t, 0, "run", `grep {"pattern": "SECRET"}`)
				list, more := p.output(t, 0, "mcp", "list")
				if all := out + errs + list + more; strings.Contains(all, "SECRET:") || strings.Contains(all, "mcpServers") || strings.Contains(list, "SECRET") {
					t.Errorf("%s %s: %s", name, kind, all)
				}
			})
		}
	}
}
