package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host/store"
)

// stdio are the streams of the process.
type stdio struct {
	in, out, err *os.File
}

// app is one run of the command: what flags and environment said, and what was opened on the way.
type app struct {
	stdio
	env    environ
	flags  globalFlags
	screen *screen
	mask   *maskWriter // stderr for errors and log, without secrets
	level  slog.LevelVar
	log    *slog.Logger

	managed string // the administrator's file
	version string // of this binary

	// start starts the host of a workspace.
	start func(context.Context, *workspace, hostOptions) (*machine, error)

	damaged map[store.Damage]bool // rows that the user was told of
}

type globalFlags struct {
	logLevel, dir, dataDir, config string
}

// run runs the command line and returns the exit code. Errors are printed here and nowhere else. managed is where an
// administrator's configuration is: nothing that a user or a project can set moves it.
func run(ctx context.Context, args []string, env []string, s stdio, managed string) int {
	a := newApp(s, env, version, managed)
	a.start = openMachine
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(s.in)
	help := &checkedWriter{w: s.out}
	root.SetOut(help)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	a.screen.close()
	if help.err != nil && (err == nil || errors.Is(err, help.err)) {
		err = outputError(help.err)
	}
	return a.exit(err)
}

// newApp returns the app of a command line that is not parsed yet.
func newApp(s stdio, env environ, version, managed string) *app {
	a := &app{stdio: s, env: env, screen: newScreen(s.in, s.out, s.err, env.lookup), managed: managed, version: version}
	a.mask = &maskWriter{w: a.screen.besides(s.err)}
	a.mask.hide(environSecrets(env))
	a.level.Set(defaultLogLevel)
	a.log = newLogger(a.mask, &a.level)
	return a
}

// exit prints the error of a command, unless it was printed, and returns the exit code.
func (a *app) exit(err error) int {
	var shown *shownError
	switch {
	case errors.Is(err, errHard):
		return exitInterrupted
	case errors.As(err, &shown):
		return remedy(shown.err).code
	}
	return report(a.mask, err)
}

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "tenon",
		Short: "An agent host: runs a coding agent in which everything but a small core is a plugin",
		Example: `  tenon run "explain what this project does"
  tenon run -c "and now add a test"
  git diff | tenon run "review this change"`,
		SilenceErrors: true, SilenceUsage: true,
	}
	group(root)
	a.globalFlags(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Sprintf("%s --help lists the flags", cmd.CommandPath()), "%w", err)
	})
	root.AddCommand(a.runCommand(), a.chatCommand(), a.sessionCommand(), exitCodesTopic())
	root.AddCommand(inspectCommands(a)...)
	root.AddCommand(manageCommands(a, func(ctx context.Context) error { return a.approveRules(ctx) })...)
	return root
}

// globalFlags adds the flags of all commands.
func (a *app) globalFlags(root *cobra.Command) {
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.checkFlags() }
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.logLevel, "log-level", "", "log to stderr from this level on: debug, info, warn or error (default warn)")
	flags.StringVar(&a.flags.dir, "dir", "", "work in this directory")
	flags.StringVar(&a.flags.dataDir, "data-dir", "", "keep sessions here (default $TENON_DATA_DIR, else the user's data directory)")
	flags.StringVar(&a.flags.config, "config", "", "read one more configuration file, after the project's")
}

func (a *app) checkFlags() error {
	if a.flags.logLevel != "" {
		level, err := parseLevel(a.flags.logLevel)
		if err != nil {
			return err
		}
		a.level.Set(level)
	}
	return nil
}

// group makes a command one that only holds others: alone it shows its help, and what it does not know is
// an error that names what was meant.
func group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		fix := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			fix = fmt.Sprintf("did you mean %s? %s", strings.Join(near, " or "), fix)
		}
		if cmd.Parent() == nil {
			fix += `; a prompt needs tenon run "…"`
		}
		return usageError(fix, "unknown command %q for %s", args[0], cmd.CommandPath())
	}
	cmd.SuggestionsMinimumDistance = 2
}

// arguments checks how many arguments a command gets.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(fmt.Sprintf("usage: %s", cmd.UseLine()), "%s needs %s", cmd.CommandPath(), what)
		case most >= 0 && len(args) > most:
			return usageError(fmt.Sprintf("usage: %s", cmd.UseLine()), "%s does not take the argument %q", cmd.CommandPath(), args[most])
		}
		return nil
	}
}

// format is a flag that chooses among forms of output.
func format(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "format", "text", "form of the output: text or json")
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *to != "text" && *to != "json" {
			return usageError("use text or json", "format %q is unknown", *to)
		}
		if check != nil {
			return check(cmd, args)
		}
		return nil
	}
}

// write prints to stdout. What reads it may have gone away, which is an error like any other.
func (a *app) write(text string) error {
	if _, err := io.WriteString(a.out, text); err != nil {
		return outputError(err)
	}
	return nil
}

// errOutput means that stdout cannot be written.
var errOutput = errors.New("write the output")

func outputError(err error) error {
	return fail(exitTurn, fmt.Errorf("%w: %w", errOutput, err), "write it elsewhere, or make room; a turn that ran is stored: tenon session show prints it")
}

// checkedWriter remembers that something could not be written: cobra, which writes help and completion scripts, does not tell.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// directory is where the work is done, absolute.
func (a *app) directory() (string, error) {
	if a.flags.dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return "", usageError("change to a directory that exists, or pass --dir DIR", "working directory: %w", err)
		}
		return dir, nil
	}
	dir, err := filepath.Abs(a.flags.dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return "", usageError("pass a directory that exists", "--dir %q: %w", a.flags.dir, cause(err))
	}
	return dir, nil
}

// cause takes the operation and the path off an error of package os: the message names them already.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of tenon:\n\n")
	for _, c := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", c.Code, c.Meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}
