package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// lockTimeout limits how long a change of the configuration waits for another one.
const lockTimeout = 10 * time.Second

func (g *group) printConfigPath(_ context.Context, w *cli.Workspace, _ []string) error {
	return g.Print(configFile(w, g.project) + "\n")
}

// configFile returns the user's or the project's configuration file: the existing one, else the one that would be created.
func configFile(w *cli.Workspace, project bool) string {
	candidates, fallback := config.UserFiles(w.Project.ConfigDir), filepath.Join(w.Project.ConfigDir, "tenon.json")
	if project {
		candidates, fallback = nil, filepath.Join(w.Project.Worktree, "tenon.json")
		for _, dir := range slices.Backward(projectfs.Upward(w.Project.Directory, w.Project.Worktree)) {
			candidates = append(candidates, config.ProjectFiles(dir)...)
		}
	}
	for _, path := range candidates {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return fallback
}

func (g *group) editConfig(ctx context.Context, w *cli.Workspace, _ []string) error {
	path := configFile(w, g.project)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	editor := g.Editor()
	switch {
	case len(editor) > 0:
	case runtime.GOOS == "windows":
		editor = []string{"notepad"}
	default:
		editor = []string{"vi"}
	}
	program, err := g.Program(editor[0])
	if err == nil {
		cmd := exec.Command(program, append(editor[1:], path)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = g.In, g.Out, g.Err, g.Env
		err = g.Await(cmd.Run)
	}
	if err != nil {
		return cli.UsageError("set VISUAL or EDITOR to your editor", "editor %s: %w", editor[0], err)
	}
	return checkConfig(ctx, g.App)
}

// setConfig changes one value of a configuration file, if the resulting configuration is valid.
func (g *group) setConfig(ctx context.Context, w *cli.Workspace, args []string) error {
	return filelock.Do(ctx, filepath.Join(w.Project.DataDir, "config.lock"), lockTimeout, func() error {
		return g.setValue(ctx, w, args[0], args[1])
	})
}

func (g *group) setValue(ctx context.Context, w *cli.Workspace, key, text string) error {
	path := configFile(w, g.project)
	old, err := projectfs.ForProject(w.Project).Read(path, checked.MaxBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.UsageError("make it readable, or replace the link by a file", "%s: %w", path, cli.Cause(err))
	}
	_, _ = w.LoadConfig(ctx, nil) // masks the current secrets in the difference; errors are reported with the new value
	changed, loaded, err := withValue(ctx, w, path, old, key, text)
	if err != nil {
		return err
	}
	if string(changed) == string(old) {
		g.Say("unchanged: %s has this value already", path)
		return nil
	}
	if err := w.WriteFile(path, changed, false); err != nil {
		return err
	}
	for _, warning := range loaded.Warnings {
		if strings.HasPrefix(warning.Key+".", key+".") || strings.HasPrefix(key+".", warning.Key+".") {
			g.Say("warning: %s", warning.String())
		}
	}
	if o, ok := loaded.Origins[key]; ok && o.Source != path {
		g.Say("note: another value applies here, set in %s", o.String())
	}
	return g.Print(terminal.Visible(g.Mask.Clean(linediff.Compare(path, path, string(old), string(changed)).Text)))
}

// withValue returns the new text of a file and the configuration with it. A value that is not JSON is text.
func withValue(ctx context.Context, w *cli.Workspace, path string, old []byte, key, text string) (changed []byte, loaded *config.Loaded, err error) {
	value := json.RawMessage(text)
	if !json.Valid(value) {
		value = jsontext.Quote(text)
	}
	if changed, err = config.Set(old, key, value); err != nil {
		if _, bad := w.LoadConfig(ctx, map[string][]byte{path: old}); errors.As(bad, new(*config.Error)) { // it names the place in the file
			return nil, nil, bad
		}
		return nil, nil, cli.UsageError("write keys as tenon config show prints them", "%s: %w", path, err)
	}
	loaded, err = w.LoadConfig(ctx, map[string][]byte{path: changed})
	return changed, loaded, err
}

func getConfig(_ context.Context, w *cli.Workspace, args []string) error {
	public, err := w.Loaded.Redacted()
	if err != nil {
		return err
	}
	values := valuesOf(public)
	value, ok := values[args[0]]
	if !ok {
		fix := cli.Suggest("tenon config show lists the values that are set; tenon docs configuration lists all keys, with their defaults", "%s", args[0], slices.Collect(maps.Keys(values)))
		return cli.UsageError(fix, "key %q has no value", args[0])
	}
	if text, ok := value.(string); ok {
		return w.App.Print(terminal.Visible(text) + "\n")
	}
	return w.App.PrintJSON(value)
}

// valuesOf returns the values and the objects of a configuration by key.
func valuesOf(c *sdk.Config) map[string]any {
	data, _ := json.Marshal(c) // it was decoded from JSON
	var root map[string]any
	_ = jsontext.DecodeExact(data, &root) // options of plugins can have numbers of any size
	out := map[string]any{}
	var visit func(key string, object map[string]any)
	visit = func(key string, object map[string]any) {
		for name, value := range object {
			at := checked.Join(key, name)
			out[at] = value
			if object, ok := value.(map[string]any); ok {
				visit(at, object)
			}
		}
	}
	visit("", root)
	return out
}
