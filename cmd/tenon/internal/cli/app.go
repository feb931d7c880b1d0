package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/store"
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
	Mask   *maskWriter // stderr for errors and log, without secrets
	Level  slog.LevelVar
	Log    *slog.Logger
	JSON   bool // the command prints JSON

	Managed string // path of the administrator's configuration file
	Version string // of this binary

	// Start starts the host of a workspace.
	Start func(context.Context, *Workspace, HostOptions) (*Machine, error)

	damaged map[store.Damage]bool // rows that were reported
}

// New returns an app; its flags are set when the command line is parsed.
func New(s Streams, env environ, version, managed string) *App {
	a := &App{Streams: s, Env: env, Screen: terminal.NewScreen(s.In, s.Out, s.Err, env.Lookup), Managed: managed, Version: version}
	a.Mask = &maskWriter{w: a.Screen.Besides(s.Err)}
	a.Mask.hide(environSecrets(env))
	a.Level.Set(defaultLogLevel)
	a.Log = newLogger(a.Mask, &a.Level)
	return a
}

// Exit prints the error of a command, unless it was already printed, and returns the exit code.
func (a *App) Exit(err error) int {
	var shown *shownError
	switch {
	case errors.Is(err, ErrHard):
		return ExitInterrupted
	case errors.As(err, &shown):
		return Remedy(shown.err).Code
	}
	return report(a.Mask, err)
}

// Directory returns the absolute working directory.
func (a *App) Directory() (string, error) {
	if a.Flags.dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return "", UsageError("change to a directory that exists, or pass --dir DIR", "working directory: %w", err)
		}
		return dir, nil
	}
	dir, err := filepath.Abs(a.Flags.dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return "", UsageError("pass a directory that exists", "--dir %q: %w", a.Flags.dir, Cause(err))
	}
	return dir, nil
}

// Cause strips the operation and the path from an error of package os, for messages that name them themselves.
func Cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
