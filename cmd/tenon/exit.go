package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit codes, as exitCodes describes them.
const (
	exitOK          = 0
	exitTurn        = 1
	exitUsage       = 2
	exitConfig      = 3
	exitStore       = 4
	exitRefused     = 5
	exitModel       = 6
	exitInterrupted = 130
)

// exitCode describes one exit code.
type exitCode struct {
	Code    int
	Meaning string
}

// exitCodes is the table of all exit codes; "tenon help exit-codes" prints it.
func exitCodes() []exitCode {
	return []exitCode{
		{exitOK, "done"},
		{exitTurn, "the turn failed: the provider or the model gave an error, or the output could not be written"},
		{exitUsage, "wrong usage: a flag, an argument, a session, agent or command that is not there"},
		{exitConfig, "the configuration is invalid"},
		{exitStore, "the session store cannot be used: disk full, read-only, damaged, locked, removed, written by a newer version, session in use"},
		{exitRefused, "a permission was refused and that ended the turn"},
		{exitModel, "the model cannot be used: unknown, not reachable by configuration, key missing or refused"},
		{exitInterrupted, "interrupted by a signal; what was done so far is stored"},
	}
}

// failure is an error with what the user can do about it.
type failure struct {
	code int
	err  error
	fix  string
}

// fail returns an error that ends the command with this exit code and remedy.
func fail(code int, err error, fix string) *failure { return &failure{code, err, fix} }

// Error returns the cause.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// shown returns an error of which only the exit code counts: it was printed when it happened.
func shown(err error) error { return &shownError{err} }

// shownError is an error that was shown when it happened; only its exit code counts.
type shownError struct{ err error }

// Error returns the cause.
func (e *shownError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *shownError) Unwrap() error { return e.err }

// usageError is a mistake on the command line.
func usageError(fix, format string, args ...any) error {
	return fail(exitUsage, fmt.Errorf(format, args...), fix)
}

// report prints the error and its remedy and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	return reportIn(w, onCommandLine(), err)
}

// reportIn is report in other words; there is an error. Its text may come from a server, a file or a plugin.
func reportIn(w io.Writer, words *wording, err error) int {
	f := words.remedy(err)
	fmt.Fprintf(w, "error: %s\n", indentRest(visible(f.err.Error()), "       "))
	if f.fix != "" {
		fmt.Fprintf(w, "fix:   %s\n", indentRest(visible(f.fix), "       "))
	}
	return f.code
}

// indentRest indents all lines but the first.
func indentRest(s, indent string) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+indent)
}

// errHard ends the process at once, without winding anything up.
var errHard = errors.New("interrupted twice: left at once")
