package manage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

func pluginTestCommand(a *cli.App) *cobra.Command {
	var update, noBuild bool
	cmd := &cobra.Command{
		Use: "test [PATH]", Short: "Run the tests of a plugin",
		Long: `Run the plugin at PATH (default: the current directory) against the files in its directory tests:

  *.turn.json  a turn with the offline model: prompt, script, files, options, and the expected result
  *.jsonl      recorded hook calls with their expected answers, one per line

The plugin is first built with the command in its plugin.json, and runs with everything it requests granted, so test
only plugins you wrote yourself. --update writes the actual results of the turns as the expected ones.`,
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) == 1 {
				path = args[0]
			}
			path, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			return testPlugin(cmd.Context(), a, &pluginTest{path: path, update: update, noBuild: noBuild})
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write the results of the turns to their files")
	cmd.Flags().BoolVar(&noBuild, "no-build", false, "do not build the plugin first")
	return cmd
}

// pluginTest is one run of "tenon plugin test".
type pluginTest struct {
	path            string
	update, noBuild bool

	passed, failed int
}

// testPlugin runs all tests with a separate data directory, so that approvals are valid only for the test. The user's configuration
// is not used.
func testPlugin(ctx context.Context, a *cli.App, t *pluginTest) (err error) {
	if err := t.build(ctx, a); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "tenon-plugin-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeAll(scratch)) }()
	lab, err := newLab(a, scratch)
	if err != nil {
		return err
	}
	if err := lab.approveForTest(ctx, t); err != nil {
		return err
	}
	turns, records, err := t.files()
	if err != nil {
		return err
	}
	for _, path := range turns {
		t.report(a, path, lab.turn(ctx, t, path))
	}
	for _, path := range records {
		t.report(a, path, lab.replay(ctx, t, path))
	}
	switch {
	case t.failed > 0:
		return cli.Fail(cli.ExitTurn, fmt.Errorf("%d of %d tests failed", t.failed, t.failed+t.passed), "fix the plugin; if the new behavior is intended, tenon plugin test --update saves it")
	case t.passed == 0:
		return cli.UsageError("write tests/NAME.turn.json with a prompt, then run tenon plugin test --update", "no tests in %s", filepath.Join(t.root(), "tests"))
	}
	a.Screen.Line(view.Plural(t.passed, "test") + " passed")
	return nil
}

// removeAll removes a tree with read-only directories, such as sealed copies.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// root returns the directory of the plugin.
func (t *pluginTest) root() string {
	if info, err := os.Stat(t.path); err == nil && !info.IsDir() {
		return filepath.Dir(t.path)
	}
	return t.path
}

// build runs the build command in the package's manifest with the environment of the user, its author.
func (t *pluginTest) build(ctx context.Context, a *cli.App) error {
	if t.noBuild {
		return nil
	}
	return buildPlugin(ctx, a, t.root())
}

// files lists the tests.
func (t *pluginTest) files() (turns, records []string, err error) {
	turns, err = filepath.Glob(filepath.Join(t.root(), "tests", "*.turn.json"))
	if err != nil {
		return nil, nil, err
	}
	records, err = filepath.Glob(filepath.Join(t.root(), "tests", "*.jsonl"))
	return turns, records, err
}

// report prints how a test went.
func (t *pluginTest) report(a *cli.App, path string, err error) {
	name := filepath.Base(path)
	if err != nil {
		t.failed++
		a.Screen.Line(a.Screen.Paint(terminal.Red, "✗ ") + terminal.Visible(name) + "\n    " + strings.ReplaceAll(strings.TrimSpace(terminal.Visible(err.Error())), "\n", "\n    "))
		return
	}
	t.passed++
	a.Screen.Line(a.Screen.Paint(terminal.Green, "✓ ") + terminal.Visible(name))
}

// lab is an empty project with its own directories, in which plugins are tested.
type lab struct{ w *cli.Workspace }

func newLab(a *cli.App, scratch string) (*lab, error) {
	w := &cli.Workspace{App: a, Dirs: cli.Dirs{
		Home: scratch, Config: filepath.Join(scratch, "config"), Data: filepath.Join(scratch, "data"), Cache: testCache(a, scratch),
	}}
	project := filepath.Join(scratch, "project")
	w.Project = sdk.Project{ID: cli.GlobalProject, Directory: project, Worktree: project, Home: scratch, ConfigDir: w.Dirs.Config, DataDir: w.Dirs.Data}
	w.Loaded = &config.Loaded{Config: &sdk.Config{}}
	return &lab{w}, os.MkdirAll(project, 0o755)
}

// testCache returns the usual cache directory, because compiling a module takes a second. Entries are identified by digest.
func testCache(a *cli.App, scratch string) string {
	if d, err := cli.FindDirs(a.Env, a.Flags.DataDir); err == nil && d.Cache != "" {
		return d.Cache
	}
	return filepath.Join(scratch, "cache")
}

// open finds the plugin under test.
func (l *lab) open(ctx context.Context, t *pluginTest) (*extensions.Set, error) {
	// Watched, because --update writes into the package.
	set, err := l.w.Extensions(ctx, []string{t.path}, true)
	if err != nil {
		return nil, err
	}
	for _, c := range set.Rejected() {
		err = errors.Join(err, fmt.Errorf("%s: %w", c.Name, c.Err))
	}
	if err != nil {
		return nil, errors.Join(cli.UsageError("fix the plugin", "%w", err), set.Discard(ctx))
	}
	return set, nil
}

// approveForTest approves the plugin in the lab, as its author.
func (l *lab) approveForTest(ctx context.Context, t *pluginTest) error {
	for range maxRounds {
		set, err := l.open(ctx, t)
		if err != nil {
			return err
		}
		pending := set.Pending()
		for _, c := range pending {
			err = errors.Join(err, approveAsAuthor(ctx, set, c))
		}
		if len(pending) == 0 {
			for _, c := range set.Candidates {
				if c.Config() != nil {
					err = errors.Join(err, set.Pin(ctx, c))
				}
			}
		}
		if err = errors.Join(err, set.Discard(ctx)); err != nil || len(pending) == 0 {
			return err
		}
	}
	return errors.New("the plugin requests more each time it is approved")
}

func approveAsAuthor(ctx context.Context, set *extensions.Set, c *extensions.Candidate) error {
	if err := set.Describe(ctx, c); err != nil {
		return err
	}
	_, err := set.Approve(ctx, c, c.Asked())
	return err
}

// turn runs one scripted turn.
func (l *lab) turn(ctx context.Context, t *pluginTest, path string) error {
	trial, err := readTrial(path)
	if err != nil {
		return err
	}
	set, err := l.open(ctx, t)
	if err != nil {
		return err
	}
	got, err := trial.run(ctx, l.w.App, set.Plugins) // closes the plugins
	if err = errors.Join(err, set.Close(ctx)); err != nil {
		return err
	}
	if t.update {
		trial.Expect = got
		return trial.write(path)
	}
	if trial.Expect == nil {
		return errors.New("it has no expected result; check the turn and save its result with --update")
	}
	diff, err := got.differences(trial.Expect)
	if err == nil && diff != "" {
		err = errors.New("unexpected result:\n" + diff)
	}
	return err
}

// replay runs recorded hook calls.
func (l *lab) replay(ctx context.Context, t *pluginTest, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := sdktest.ReadRecords(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	set, err := l.open(ctx, t)
	if err != nil {
		return err
	}
	for _, p := range set.Plugins {
		h := sdktest.New(p, sdktest.Options{})
		var differences []sdktest.Difference
		if err == nil {
			err = h.Start(ctx)
		}
		if err == nil {
			differences, err = sdktest.Replay(ctx, p, records)
		}
		for _, d := range differences {
			err = errors.Join(err, errors.New(d.String()))
		}
		err = errors.Join(err, p.Close(ctx))
	}
	return errors.Join(err, set.Close(ctx))
}
