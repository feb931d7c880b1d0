package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/sdk"
)

// buildPlugin builds the package in a directory, if its manifest has a build command.
func buildPlugin(ctx context.Context, a *cli.App, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "plugin.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var m struct {
		Extensions map[string]struct {
			Build *sdk.Build `json:"build"`
		} `json:"extensions"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return cli.UsageError("fix plugin.json", "%s: %w", filepath.Join(dir, "plugin.json"), err)
	}
	build := m.Extensions[sdk.ExtensionNamespace].Build
	if build == nil || len(build.Command) == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, build.Command[0], build.Command[1:]...)
	cmd.Dir, cmd.Env = dir, append([]string{}, a.Env...)
	for name, value := range build.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("%s: %w\n%s", strings.Join(build.Command, " "), err, terminal.Visible(string(out))), "fix the errors above")
	}
	return nil
}

// BuildAll builds the packages among the paths, and updates their manifests, for authors who watch them.
func BuildAll(ctx context.Context, a *cli.App, paths []string) error {
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		if err := buildPlugin(ctx, a, path); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, "plugin.json")); err != nil {
			continue
		}
		if err := syncManifest(ctx, a, path); err != nil && !errors.Is(err, errNoDescription) {
			return err
		}
	}
	return nil
}
