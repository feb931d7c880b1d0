package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// lockTimeout limits how long a change of the configuration waits for another one.
const lockTimeout = 10 * time.Second

// configFileCommands returns the commands that name and change a configuration file.
func configFileCommands(a *cli.App) []*cobra.Command {
	var project bool
	path := &cobra.Command{
		Use: "path", Short: "Print the path of your configuration file",
		RunE: a.OnPlace(func(_ context.Context, w *cli.Workspace, _ []string) error {
			return a.Print(configFile(w, project) + "\n")
		}),
	}
	edit := &cobra.Command{
		Use: "edit", Short: "Open your configuration file in $VISUAL or $EDITOR, and check it afterwards",
		RunE: a.OnPlace(func(ctx context.Context, w *cli.Workspace, _ []string) error {
			return editConfig(ctx, a, configFile(w, project))
		}),
	}
	set := &cobra.Command{
		Use: "set KEY VALUE", Short: "Change one value in your configuration file",
		Long: `Change one value in your configuration file and print the difference. Comments and all other values stay as they are. The
file is written only if the configuration is valid with the new value. A value that is not JSON is text; write a number that is
text as '"123"'.`,
		Example: `  tenon config set model anthropic/claude-sonnet-4-5
  tenon config set provider.mine.options.baseURL http://localhost:8080/v1
  tenon config set permission.bash '{"*": "ask", "git status*": "allow"}'
  tenon config set --project compaction.auto false`,
		RunE: a.OnPlace(func(ctx context.Context, w *cli.Workspace, args []string) error {
			return filelock.Do(ctx, filepath.Join(w.Project.DataDir, "config.lock"), lockTimeout, func() error {
				return setConfig(ctx, a, w, args[0], args[1], project)
			})
		}),
	}
	list := []*cobra.Command{path, edit, set}
	for _, cmd := range list {
		cmd.Flags().BoolVar(&project, "project", false, "use the project's file")
	}
	return list
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

func editConfig(ctx context.Context, a *cli.App, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	editor := a.Editor()
	switch {
	case len(editor) > 0:
	case runtime.GOOS == "windows":
		editor = []string{"notepad"}
	default:
		editor = []string{"vi"}
	}
	program, err := a.Program(editor[0])
	if err == nil {
		cmd := exec.Command(program, append(editor[1:], path)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = a.In, a.Out, a.Err, a.Env
		err = a.Await(cmd.Run)
	}
	if err != nil {
		return cli.UsageError("set VISUAL or EDITOR to your editor", "editor %s: %w", editor[0], err)
	}
	return checkConfig(ctx, a)
}

// setConfig changes one value of a configuration file, if the configuration is valid with it.
func setConfig(ctx context.Context, a *cli.App, w *cli.Workspace, key, text string, project bool) error {
	path := configFile(w, project)
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
		a.Say("unchanged: %s has this value already", path)
		return nil
	}
	if err := w.WriteFile(path, changed, false); err != nil {
		return err
	}
	for _, warning := range loaded.Warnings {
		if strings.HasPrefix(warning.Key+".", key+".") || strings.HasPrefix(key+".", warning.Key+".") {
			a.Say("warning: %s", warning.String())
		}
	}
	if o, ok := loaded.Origins[key]; ok && o.Source != path {
		a.Say("note: another value applies here, set in %s", o.String())
	}
	return a.Print(terminal.Visible(a.Mask.Clean(udiff.Unified(path, path, string(old), string(changed)))))
}

// withValue returns the new text of a file and the configuration with it. A value that is not JSON is text.
func withValue(ctx context.Context, w *cli.Workspace, path string, old []byte, key, text string) (changed []byte, loaded *config.Loaded, err error) {
	value := json.RawMessage(text)
	if !json.Valid(value) {
		if value, err = json.Marshal(text); err != nil {
			return nil, nil, err
		}
	}
	if changed, err = config.Set(old, key, value); err != nil {
		return nil, nil, cli.UsageError("write keys as tenon config show prints them", "%s: %w", path, err)
	}
	loaded, err = w.LoadConfig(ctx, map[string][]byte{path: changed})
	return changed, loaded, err
}

func configGetCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get KEY", Short: "Print one configuration value",
		Long: `Print one configuration value, or the object below a key as JSON. Secrets are printed as ***.`,
		Args: cli.Args(1, 1, "a key, such as model"),
		RunE: a.OnConfig(func(_ context.Context, w *cli.Workspace, args []string) error {
			values, err := valuesOf(w.Loaded)
			if err != nil {
				return err
			}
			value, ok := values[args[0]]
			if !ok {
				fix := "tenon config show lists all values"
				if near := nearest.Name(args[0], slices.Collect(maps.Keys(values))); near != "" {
					fix = fmt.Sprintf("did you mean %s? %s", near, fix)
				}
				return cli.UsageError(fix, "key %q has no value", args[0])
			}
			if text, ok := value.(string); ok {
				return a.Print(terminal.Visible(text) + "\n")
			}
			return a.PrintJSON(value)
		}),
	}
}

// valuesOf returns the values and the objects of the configuration by key, without secrets.
func valuesOf(l *config.Loaded) (map[string]any, error) {
	public, err := l.Redacted()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(public)
	if err != nil {
		return nil, err
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, err
	}
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
	return out, nil
}
