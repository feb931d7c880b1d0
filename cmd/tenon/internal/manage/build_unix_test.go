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

// An interrupted build ends with the programs that its command started.
func TestBuildIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "x", "version": "1.0.0", "extensions": {"io.github.tenonhq": {
		"runtime": {"type": "process", "command": ["./x"]}, "build": {"command": ["sh", "-c", "touch started; sleep 60 & wait"]}}}}`
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
