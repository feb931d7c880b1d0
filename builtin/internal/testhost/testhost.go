// Package testhost is a test host for plugins that read files of the project and of the user.
package testhost

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// Host provides a project in a temporary directory, and records the log.
type Host struct {
	Place    sdk.Project
	Settings sdk.Config
	Log      bytes.Buffer
}

var (
	_ sdk.Host         = (*Host)(nil)
	_ sdk.ConfigReader = (*Host)(nil)
)

// New returns a host for <tmp>/home/p/sub in the project <tmp>/home/p. None of them exists yet.
func New(tb testing.TB) *Host {
	tb.Helper()
	home := filepath.Join(tb.TempDir(), "home")
	root := filepath.Join(home, "p")
	return &Host{Place: sdk.Project{Directory: filepath.Join(root, "sub"), Worktree: root, Home: home, ConfigDir: filepath.Join(home, "conf")}}
}

// Logger writes to Log.
func (h *Host) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(&h.Log, nil)) }

// Project returns Place.
func (h *Host) Project() sdk.Project { return h.Place }

// Config returns Settings.
func (h *Host) Config() *sdk.Config { return &h.Settings }

// Options returns none.
func (*Host) Options() json.RawMessage { return nil }

// Write writes a file and the directories above it, and returns its path.
func Write(tb testing.TB, path, text string) string {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}
