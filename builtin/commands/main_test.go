package commands_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// host is what a plugin gets: a project below a temporary directory, and a log to look at.
type host struct {
	project sdk.Project
	config  sdk.Config
	log     bytes.Buffer
}

func (h *host) Logger() *slog.Logger   { return slog.New(slog.NewTextHandler(&h.log, nil)) }
func (h *host) Project() sdk.Project   { return h.project }
func (h *host) Config() *sdk.Config    { return &h.config }
func (*host) Options() json.RawMessage { return nil }

// newHost returns a host for <tmp>/home/p/sub in the project <tmp>/home/p.
func newHost(tb testing.TB) *host {
	tb.Helper()
	home := filepath.Join(tb.TempDir(), "home")
	root := filepath.Join(home, "p")
	return &host{project: sdk.Project{Directory: filepath.Join(root, "sub"), Worktree: root, Home: home, ConfigDir: filepath.Join(home, "conf")}}
}

func write(tb testing.TB, path, text string) string {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}
