package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/nearest"
)

// The exit codes. tenon help exit-codes describes them.
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

// Failure is an error with its remedy.
type Failure struct {
	Code int
	Err  error
	Fix  string

	shown bool
}

// Fail returns an error with an exit code and a remedy.
func Fail(code int, err error, fix string) *Failure { return &Failure{Code: code, Err: err, Fix: fix} }

// Remedies lists errors with their exit codes and remedies. The first entry that an error wraps applies.
type Remedies []struct {
	Err  error
	Code int
	Fix  string
}

// Failure returns the error with its exit code and remedy, or nil if it is not in the list.
func (r Remedies) Failure(err error) *Failure {
	for _, one := range r {
		if errors.Is(err, one.Err) {
			return Fail(one.Code, err, one.Fix)
		}
	}
	return nil
}

// Remedied returns the error with its exit code and remedy, or unchanged if it has a remedy or is not in the list.
func (r Remedies) Remedied(err error) error {
	if f := r.Failure(err); f != nil && !errors.As(err, new(*Failure)) {
		return f
	}
	return err
}

// Join returns one error for several, with the exit code of the first and all their remedies; nil if all are nil.
func Join(problems ...error) error {
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	if len(problems) < 2 {
		return errors.Join(problems...)
	}
	var fixes []string
	for _, err := range problems {
		if fix := Remedy(err).Fix; fix != "" && !slices.Contains(fixes, fix) {
			fixes = append(fixes, fix)
		}
	}
	return Fail(Remedy(problems[0]).Code, errors.Join(problems...), strings.Join(fixes, "\n"))
}

// Error returns the cause.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Shown returns an error that was already printed. It only sets the exit code.
func Shown(err error) error {
	f := *Remedy(err)
	f.shown = true
	return &f
}

// UsageError returns an error about the command line.
func UsageError(fix, format string, args ...any) *Failure {
	return Fail(ExitUsage, fmt.Errorf(format, args...), fix)
}

// Suggest returns the remedy for an unknown name. It begins with the known name that was probably meant, if any, in a form such as "--%s".
func Suggest(fix, form, name string, known []string) string {
	if near := nearest.Name(name, known); near != "" {
		return fmt.Sprintf("did you mean "+form+"? %s", near, fix)
	}
	return fix
}

// ReportIn prints an error and its remedy in the given wording, and returns the exit code. The text of the error may come from a server, a file
// or a plugin.
func ReportIn(w io.Writer, words *wording, err error) int {
	f := words.Remedy(err)
	for _, line := range [][2]string{{"error", f.Err.Error()}, {"fix", f.Fix}} {
		if text := strings.TrimSpace(terminal.Visible(line[1])); text != "" || line[0] == "error" {
			fmt.Fprintf(w, "%-6s %s\n", line[0]+":", strings.ReplaceAll(text, "\n", "\n       "))
		}
	}
	return f.Code
}

// ErrHard ends the process immediately, without a shutdown.
var ErrHard = errors.New("interrupted twice")

// MaxDamaged limits the number of damaged rows that are listed.
const MaxDamaged = 20

// WithoutDamage reports the damaged rows missing from a result, each once, and returns any other error. It may be called concurrently.
func (a *App) WithoutDamage(err error) error {
	rows, err := store.Readable(err)
	sessions := map[string]bool{}
	a.reporting.Lock()
	defer a.reporting.Unlock()
	for _, row := range rows {
		if a.damaged[row] {
			continue
		}
		if a.damaged == nil {
			a.damaged = map[store.Damage]bool{}
		}
		if a.damaged[row] = true; len(a.damaged) <= MaxDamaged {
			a.Say("damaged: %s", terminal.OneLine(row.String()))
			sessions[row.Session] = true
		} else if len(a.damaged) == MaxDamaged+1 {
			a.Say("damaged: more rows; tenon doctor lists them")
		}
	}
	if len(sessions) > 0 {
		a.Say("fix:     %s", RepairFix(rows))
	}
	return err
}

// RepairFix returns the remedy for damaged rows.
func RepairFix(rows []store.Damage) string {
	session := rows[0].Session
	for _, row := range rows {
		if row.Session != session || row.Type == store.DamagedStore {
			session = ""
		}
	}
	if session == "" {
		return "tenon session repair moves damaged rows out of the way"
	}
	return fmt.Sprintf("tenon session repair %s moves damaged rows out of the way", terminal.OneLine(session))
}
