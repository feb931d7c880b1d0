package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApproveOnTerminal: what came with a project is asked about at its first use; yes is remembered, no runs nothing.
func TestApproveOnTerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		runs   bool
	}{"yes": {"y\r", true}, "no": {"n\r", false}, "nothing": {"\r", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, "")
			p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
			hooks := `{"hooks": {"PostToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "touch hook-ran #` + strings.Repeat(" word", 20) + `"}]}]}}`
			must(t, os.WriteFile(filepath.Join(p.work, "tenon.json"), []byte(hooks), 0o644))
			must(t, os.WriteFile(filepath.Join(p.work, "a.txt"), []byte("a"), 0o644))

			term := p.onTerminal(t, "run", `read {"filePath": "a.txt"}`)
			term.expect("command hooks hooks.project")
			term.expect("PostToolUse *: touch hook-ran")
			term.expect("word\r\n    word") // wrapped at a space
			term.expect("approve it? [y/N]")
			term.enter(c.answer)
			term.expect("continue with: ")
			if code := term.code(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			_, err := os.Stat(filepath.Join(p.work, "hook-ran"))
			if ran := err == nil; ran != c.runs {
				t.Errorf("the hook ran: %v, want %v", ran, c.runs)
			}
		})
	}
}

// TestBrokenModuleOnTerminal: a broken module does not prevent work.
func TestBrokenModuleOnTerminal(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	dir := filepath.Join(p.work, ".tenon", "plugins")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "broken.wasm"), []byte("\x00asm\x01\x00\x00\x00 and then garbage"), 0o644))
	term := p.onTerminal(t, "run", "hello")
	term.expect("plugin broken cannot be approved and is not run")
	term.expect("continue with: ")
	if code := term.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
