//go:build unix

package manage

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
)

// buildable returns a package with a build command.
func buildable(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text := `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "x", "version": "1.0.0", "extensions": {"io.github.tenonhq": {
		"runtime": {"type": "process", "command": ["./x"]}, "build": {"command": ["sh", "-c", "` + script + `"]}}}}`
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A program that a build leaves behind neither delays nor fails the build.
func TestBuildLeavesAProgram(t *testing.T) {
	t.Parallel()
	if err := buildPlugin(t.Context(), &cli.App{Env: os.Environ()}, buildable(t, "sleep 5 &")); err != nil {
		t.Error(err)
	}
}

// An interrupted build ends with the programs that its command started.
func TestBuildIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := buildable(t, "touch started; sleep 60 & wait")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- buildPlugin(ctx, &cli.App{Env: os.Environ()}, dir) }() // waited for below
	for {
		if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the build succeeded")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the build still waits for a program that its command started")
	}
}
