package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

// The exit codes, as exitCodes describes them.
const (
	exitOK          = 0
	ExitTurn        = 1
	ExitUsage       = 2
	ExitConfig      = 3
	ExitStore       = 4
	ExitRefused     = 5
	ExitModel       = 6
	ExitInterrupted = 130
)

// exitCode describes one exit code.
type exitCode struct {
	Code    int
	Meaning string
}

// ExitCodes is the table of all exit codes; "tenon help exit-codes" prints it.
func ExitCodes() []exitCode {
	return []exitCode{
		{exitOK, "done"},
		{ExitTurn, "the turn failed: the provider or the model gave an error, or the output could not be written"},
		{ExitUsage, "wrong usage: a flag, an argument, a session, agent or command that is not there"},
		{ExitConfig, "the configuration is invalid"},
		{ExitStore, "the session store cannot be used: disk full, read-only, damaged, locked, removed, written by a newer version, session in use"},
		{ExitRefused, "a permission was refused and that ended the turn"},
		{ExitModel, "the model cannot be used: unknown, not reachable by configuration, key missing or refused"},
		{ExitInterrupted, "interrupted by a signal; what was done so far is stored"},
	}
}

// Failure is an error with what the user can do about it.
type Failure struct {
	Code int
	Err  error
	Fix  string
}

// Fail returns an error that ends the command with this exit code and remedy.
func Fail(code int, err error, fix string) *Failure { return &Failure{code, err, fix} }

// Error returns the cause.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Shown returns an error of which only the exit code counts: it was printed when it happened.
func Shown(err error) error { return &shownError{err} }

// shownError is an error that was shown when it happened; only its exit code counts.
type shownError struct{ err error }

// Error returns the cause.
func (e *shownError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *shownError) Unwrap() error { return e.err }

// UsageError is a mistake on the command line.
func UsageError(fix, format string, args ...any) error {
	return Fail(ExitUsage, fmt.Errorf(format, args...), fix)
}

// report prints the error and its remedy and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	return ReportIn(w, OnCommandLine(), err)
}

// ReportIn is report in other words; there is an error. Its text may come from a server, a file or a plugin.
func ReportIn(w io.Writer, words *wording, err error) int {
	f := words.Remedy(err)
	fmt.Fprintf(w, "error: %s\n", indentRest(terminal.Visible(f.Err.Error()), "       "))
	if f.Fix != "" {
		fmt.Fprintf(w, "fix:   %s\n", indentRest(terminal.Visible(f.Fix), "       "))
	}
	return f.Code
}

// indentRest indents all lines but the first.
func indentRest(s, indent string) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+indent)
}

// errHard ends the process at once, without winding anything up.
var ErrHard = errors.New("interrupted twice: left at once")
