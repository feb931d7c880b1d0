package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// pluginTest is one run of "tenon plugin test".
type pluginTest struct {
	*cli.App
	update, noBuild bool
	record          string // a session to record; the new tests then get their expected results

	path, root     string         // of the plugin: its file or directory, and the directory
	w              *cli.Workspace // an empty project with its own directories
	passed, failed int
}

func (t *pluginTest) start(cmd *cobra.Command, args []string) (err error) {
	ctx := cmd.Context()
	if t.path, err = filepath.Abs(strings.Join(args, "")); err != nil {
		return err
	}
	info, err := os.Stat(t.path)
	if err != nil {
		return cli.UsageError("name a plugin; tenon plugin new creates one", "%w", err)
	}
	if t.root = t.path; !info.IsDir() {
		t.root = filepath.Dir(t.path)
	}
	if t.record != "" {
		if err := t.recordTurns(ctx); err != nil {
			return err
		}
	}
	return t.run(ctx)
}

// run runs all tests with a separate data directory, so that approvals are valid only for the test. The user's configuration is not
// used.
func (t *pluginTest) run(ctx context.Context) (err error) {
	if hasManifest(t.root) {
		if !t.noBuild {
			if err := buildPlugin(ctx, t.App, t.root); err != nil {
				return err
			}
		}
		if err := checkManifest(ctx, t.App, t.root); err != nil { // the turns would fail, and --update would save that
			return cmp.Or(ctx.Err(), err)
		}
	}
	scratch, err := os.MkdirTemp("", "tenon-plugin-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.RemoveAll(scratch)) }()
	t.w = &cli.Workspace{App: t.App, Loaded: &config.Loaded{Config: &sdk.Config{}}, Project: scratchProject(scratch)}
	t.w.Project.CacheDir = cmp.Or(moduleCache(t.App), filepath.Join(scratch, "cache")) // compiling a module takes a second
	if err := os.MkdirAll(t.w.Project.Directory, 0o755); err != nil {
		return err
	}
	if err := t.approve(ctx); err != nil {
		return err
	}
	files, err := os.ReadDir(filepath.Join(t.root, "tests"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, file := range files {
		path := filepath.Join(t.root, "tests", file.Name())
		switch {
		case strings.HasSuffix(path, ".turn.json"):
			err = t.turn(ctx, path)
		case strings.HasSuffix(path, ".jsonl"):
			err = t.replay(ctx, path)
		default:
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.report(path, err)
	}
	switch {
	case t.failed > 0:
		return cli.Fail(cli.ExitTurn, fmt.Errorf("%d of %d tests failed", t.failed, t.failed+t.passed), "fix the plugin; if the new behavior is intended, save it with tenon plugin test --update")
	case t.passed == 0:
		return cli.UsageError("write tests/NAME.turn.json with a prompt, then run tenon plugin test --update", "no tests in %s", filepath.Join(t.root, "tests"))
	}
	t.Say("%s passed", view.Plural(t.passed, "test"))
	return nil
}

// report prints the result of a test.
func (t *pluginTest) report(path string, err error) {
	name, screen := filepath.Base(path), t.Screen
	if err != nil {
		t.failed++
		screen.Line(screen.Paint(terminal.Red, "✗ ") + terminal.Visible(name) + "\n    " + strings.ReplaceAll(strings.TrimSpace(terminal.Visible(err.Error())), "\n", "\n    "))
		return
	}
	t.passed++
	screen.Line(screen.Paint(terminal.Green, "✓ ") + terminal.Visible(name))
}

// scratchProject returns an empty project with its own directories in a temporary directory.
func scratchProject(dir string) sdk.Project {
	project := filepath.Join(dir, "project")
	return sdk.Project{
		ID: cli.GlobalProject, Directory: project, Worktree: project, Home: dir, ConfigDir: filepath.Join(dir, "config"), DataDir: filepath.Join(dir, "data"),
	}
}

// with runs f with the plugin under test, which gets the options.
func (t *pluginTest) with(ctx context.Context, options json.RawMessage, f func(*extensions.Set) error) error {
	t.w.Loaded.Config.Plugins = []sdk.PluginConfig{{Path: t.path, Options: options}}
	// The plugin counts as watched, because --update writes into its package.
	set, err := t.w.Extensions(ctx, []string{t.path}, true)
	if err != nil {
		return err
	}
	for _, c := range set.In(plugins.StateRejected) {
		err = errors.Join(err, fmt.Errorf("%s: %w", c.Name, c.Err))
	}
	if err == nil {
		err = set.Precompile(ctx) // the time limits of a test do not include compiling
	}
	if err != nil {
		err = cli.UsageError("fix the plugin", "%w", err)
	} else {
		err = f(set)
	}
	return errors.Join(err, set.Discard(ctx))
}

// approve approves the plugin for the test, with everything it requests.
func (t *pluginTest) approve(ctx context.Context) error {
	return t.with(ctx, nil, func(set *extensions.Set) error {
		for range maxRounds + 1 {
			pending := set.In(plugins.StatePending)
			if len(pending) == 0 {
				for _, w := range set.Warnings {
					t.Log.Warn(w)
				}
				return pinAll(ctx, set)
			}
			for _, c := range pending {
				if err := set.Describe(ctx, c); err != nil {
					return err
				}
				if _, _, err := set.Approve(ctx, c, c.Asks); err != nil {
					return err
				}
			}
		}
		return errors.New("the plugin requests more each time it is approved")
	})
}

// pinAll approves what the servers of the plugin offer.
func pinAll(ctx context.Context, set *extensions.Set) (err error) {
	for _, c := range set.Candidates {
		if err == nil && c.Server != nil {
			if err = set.Pin(ctx, c); err != nil && c.Server.Transport == mcp.TransportStdio {
				err = cli.Fail(cli.ExitTurn, err, "fix the server that the plugin starts")
			}
		}
	}
	return err
}

// turn runs one scripted turn.
func (t *pluginTest) turn(ctx context.Context, path string) error {
	trial, err := readTrial(path)
	if err != nil {
		return err
	}
	var got *trialResult
	err = t.with(ctx, trial.Options, func(set *extensions.Set) (err error) {
		got, err = trial.run(ctx, t.App, set.Plugins())
		return err
	})
	switch {
	case err != nil:
		return err
	case t.update, t.record != "" && trial.Expect == nil:
		trial.Expect = got
		if err := trial.write(path); err != nil {
			return err
		}
		return got.failures()
	case trial.Expect == nil:
		return errors.New("it has no expected result; check the turn and save its result with --update")
	}
	want, wantErr := cli.JSON(trial.Expect)
	have, haveErr := cli.JSON(got)
	if diff := linediff.Compare("expected", "got", want, have); diff.Text != "" {
		err = errors.New("unexpected result:\n" + diff.Text)
	}
	return errors.Join(wantErr, haveErr, err)
}

// replay runs recorded hook calls.
func (t *pluginTest) replay(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := sdktest.ReadRecords(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return t.with(ctx, nil, func(set *extensions.Set) (err error) {
		for _, p := range set.Plugins() {
			var differences []sdktest.Difference
			if err == nil {
				err = sdktest.New(p, sdktest.Options{}).Start(ctx)
			}
			if err == nil {
				differences, err = sdktest.Replay(ctx, p, records)
			}
			for _, d := range differences {
				err = errors.Join(err, errors.New(d.String()))
			}
		}
		return err
	})
}

// buildPlugin builds the package in a directory, if its manifest has a build command.
func buildPlugin(ctx context.Context, a *cli.App, dir string) error {
	p, err := manifest.ReadUnbuilt(dir)
	if err != nil {
		return cli.UsageError("fix the plugin, or name the directory of one", "%w", err)
	}
	build := p.Description.Build
	if build == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, build.Command[0], build.Command[1:]...)
	cmd.Dir, cmd.Env = dir, append([]string{}, a.Env...)
	for name, value := range build.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	child.Prepare(cmd)
	out, err := cmd.CombinedOutput()
	if err = child.Ended(err); err != nil {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("%s: %w\n%s", strings.Join(build.Command, " "), err, terminal.Visible(string(out))), remedyFor(err, "fix the errors above"))
	}
	return nil
}

// BuildAll builds the packages among the paths, and updates their manifests, for authors who watch them. Code that does not use a library of
// tenon cannot describe itself. Code that could before and no longer can is broken.
func BuildAll(ctx context.Context, a *cli.App, paths []string) error {
	for _, path := range paths {
		if !hasManifest(path) {
			continue
		}
		err := buildPlugin(ctx, a, path)
		if err == nil {
			err = syncManifest(ctx, a, path)
		}
		if err != nil && (a.Described[path] || !errors.Is(err, errNoDescription)) {
			return err
		}
		a.Described[path] = err == nil
	}
	return nil
}
