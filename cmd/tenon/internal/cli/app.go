// Package cli holds the parts that all commands share: the streams and flags of the process, directories and configuration, the session
// store and the host, output, and errors with their remedies and exit codes.
package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// Streams are the streams of the process.
type Streams struct {
	In, Out, Err *os.File
}

// App is one run of the command.
type App struct {
	Streams
	Env    environ
	Flags  globalFlags
	Screen *terminal.Screen
	Mask   *maskWriter // stderr for errors and the log; masks secrets
	Level  slog.Level  // minimum level of Log
	Log    *slog.Logger
	JSON   bool // the command prints JSON

	Managed string // path of the administrator's configuration file
	Version string // of this binary

	Described map[string]bool // packages whose code has described itself, by path: manage.BuildAll

	// Start starts the host of a workspace.
	Start func(context.Context, *Workspace, HostOptions) (*Machine, error)

	interrupted <-chan struct{}       // closed when a signal asks the command to end
	signals     chan os.Signal        // receives signals that ask the process to end
	reporting   sync.Mutex            // guards damaged
	damaged     map[store.Damage]bool // rows already reported
}

// New returns an app; its flags are set when the command line is parsed.
func New(s Streams, env environ, version, managed string) *App {
	a := &App{Streams: s, Env: env, Screen: terminal.NewScreen(s.In, s.Out, s.Err, env.Lookup), Managed: managed, Version: version, Described: map[string]bool{}}
	a.Mask = &maskWriter{w: a.Screen.Besides(s.Err)}
	a.Mask.hide(environSecrets(env))
	a.SetLevel(slog.LevelWarn) // degraded operation, and problems that require action
	return a
}

// Exit prints the error of a command, unless it was already printed, and returns the exit code.
func (a *App) Exit(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, ErrHard):
		return ExitInterrupted
	case Remedy(err).shown:
		return Remedy(err).Code
	}
	return ReportIn(a.Mask, OnCommandLine(), err)
}

// Directory returns the real path of the working directory. The shell's path may contain links, and under that name, sessions and repository would
// not be found.
func (a *App) Directory() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", UsageError("change to a directory that exists, or pass --dir DIR", "working directory: %w", err)
	}
	return projectfs.Real(dir), nil
}

// Program finds a program in PATH, ignoring the project's own (see projectfs.LookPath).
func (a *App) Program(name string) (string, error) {
	dir, err := a.Directory()
	if err != nil {
		return "", err
	}
	if root, ok := findWorktree(dir); ok {
		dir = root
	}
	return projectfs.LookPath(name, dir)
}

// Cause strips the operation and the path from an error of package os, for messages that name them themselves.
func Cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

type globalFlags struct {
	logLevel, dir, DataDir, config string
}

// GlobalFlags adds the flags of all commands.
func (a *App) GlobalFlags(root *cobra.Command) {
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.checkFlags(cmd) }
	flags := root.PersistentFlags()
	flags.StringVar(&a.Flags.logLevel, "log-level", "", "minimum `level` of log messages on stderr: trace (with the data of hook calls), debug, info, warn or error (default warn)")
	flags.Func("dir", "work in this `directory` (default: the current one); relative paths start there", a.changeDirectory)
	flags.StringVar(&a.Flags.DataDir, "data-dir", "", "store sessions, credentials and caches in this `directory` (default: $TENON_DATA_DIR, or the user's data directory)")
	flags.StringVar(&a.Flags.config, "config", "", "also read this configuration `file`; it overrides the project's")
}

// changeDirectory changes the working directory of the process, like git -C, so all paths on the command line start there. It ignores a repeated
// call, because a completion parses the flags twice.
func (a *App) changeDirectory(dir string) error {
	if dir == a.Flags.dir {
		return nil
	}
	if err := os.Chdir(dir); err != nil {
		return UsageError("pass an existing directory that you can enter", "--dir %q: %w", dir, Cause(err))
	}
	a.Flags.dir = dir
	return nil
}

// checkFlags returns an error for an unknown log level, and for an empty session or message: in a script, it comes from an unset variable,
// and must not select all sessions or the latest one.
func (a *App) checkFlags(cmd *cobra.Command) error {
	for _, name := range []string{"session", "at", "to"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return UsageError("pass one, or omit the flag", "--%s is empty", name)
		}
	}
	if a.Flags.logLevel != "" {
		level, err := parseLevel(a.Flags.logLevel)
		if err != nil {
			return err
		}
		a.SetLevel(level)
	}
	return nil
}
