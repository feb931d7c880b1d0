package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
)

// ErrOutput reports that writing to stdout failed.
var ErrOutput = errors.New("cannot write to stdout")

// OutputError wraps a failed write to stdout. It is silent about a closed pipe, because its reader may have read enough.
func OutputError(err error) error {
	if terminal.ReaderEnded(err) {
		return Shown(ErrOutput)
	}
	return Fail(ExitTurn, fmt.Errorf("%w: %w", ErrOutput, err), "redirect the output elsewhere, or free disk space; tenon session show prints a completed turn")
}

// Print writes to stdout.
func (a *App) Print(text string) error {
	if _, err := io.WriteString(a.Out, text); err != nil {
		return OutputError(err)
	}
	return nil
}

// PrintContent writes text from outside to stdout, such as the content of a file. On a terminal it cannot control the terminal; otherwise it is
// unchanged.
func (a *App) PrintContent(text string) error {
	if a.Screen.Streams {
		text = terminal.Visible(text)
	}
	return a.Print(text)
}

// Say writes a line about the command's work to the screen. Whatever the arguments contain, it cannot control the terminal.
func (a *App) Say(format string, args ...any) {
	a.Screen.Line(terminal.Visible(fmt.Sprintf(format, args...)))
}

// PrintJSON prints a value to stdout, indented.
func (a *App) PrintJSON(v any) error {
	text, err := JSON(v)
	if err != nil {
		return err
	}
	return a.Print(text)
}

// JSON returns a value as indented JSON with a line break at the end.
func JSON(v any) (string, error) {
	var b strings.Builder
	enc := view.NewEncoder(&b)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.String(), err
}

// PrintTable prints tables to stdout, with a blank line between them.
func (a *App) PrintTable(tables ...*view.Table) error {
	width := 0
	if a.Screen.Streams {
		width = a.Screen.Width()
	}
	var texts []string
	for _, t := range tables {
		if text := t.Text(width); text != "" {
			texts = append(texts, text)
		}
	}
	return a.Print(strings.Join(texts, "\n"))
}

// Show prints a value as JSON if the user requested it, else calls text.
func (a *App) Show(v any, text func() error) error {
	if a.JSON {
		return a.PrintJSON(v)
	}
	return text()
}

// List prints a list as JSON if the user requested it, else as a table with the cells that row returns. head has the names of the columns; nil: none.
// For an empty list it prints empty.
func List[T any](a *App, list []T, empty string, head []string, row func(*T) []string) error {
	if a.JSON {
		return a.PrintJSON(append([]T{}, list...))
	}
	if len(list) == 0 {
		a.Say("%s", empty)
		return nil
	}
	t := &view.Table{Head: head}
	for i := range list {
		t.Add(row(&list[i])...)
	}
	return a.PrintTable(t)
}

// Confirm asks the user a yes-or-no question; the default is no.
func (a *App) Confirm(question string) (bool, error) {
	if !a.Screen.Answers {
		return false, UsageError("pass --yes", "cannot ask for confirmation: not a terminal")
	}
	line, err := a.ask(question)
	line = strings.ToLower(line)
	return err == nil && (line == "y" || line == "yes"), err
}

// Consent asks the user a question like Confirm, unless yes is set, and returns refused unless the answer is yes.
func (a *App) Consent(yes bool, question string, refused error) error {
	if yes {
		return nil
	}
	ok, err := a.Confirm(question)
	if err == nil && !ok {
		return refused
	}
	return err
}

// Choice is one of the answers to a question.
type Choice struct{ Name, Text string }

// Names lists the names of choices.
func Names(choices []Choice) string {
	return strings.Join(Mapped(choices, func(c *Choice) string { return c.Name }), ", ")
}

// Mapped returns the results of a function for the entries of a list.
func Mapped[T, U any](list []T, f func(*T) U) []U {
	var out []U
	for i := range list {
		out = append(out, f(&list[i]))
	}
	return out
}

// Pick shows numbered choices and returns the name of the chosen one, or any other text that the user enters; empty at the end of the input.
// The caller must check Screen.Answers first.
func (a *App) Pick(question string, choices []Choice) (string, error) {
	for i, c := range choices {
		a.Say("%3d  %-24s %s", i+1, terminal.OneLine(c.Name), terminal.OneLine(c.Text))
	}
	line, err := a.ask(question)
	if n, numberErr := strconv.Atoi(line); numberErr == nil && n >= 1 && n <= len(choices) {
		line = choices[n-1].Name
	}
	return line, err
}

// ask writes a question and returns the line that the user enters; empty at the end of the input.
func (a *App) ask(question string) (string, error) {
	terminal.DropInput(a.In)
	buf, n := make([]byte, terminal.MaxLine), 0
	err := a.Await(func() (err error) {
		a.Screen.Ask(terminal.Visible(question))
		n, err = a.In.Read(buf)
		return err
	})
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	if err == nil {
		a.Screen.Answered()
	}
	return strings.TrimSpace(string(buf[:n])), err
}

// maxSecret is the maximum size of an entered secret, in bytes. Keys of providers have a few hundred at most.
const maxSecret = 16 << 10

// AskSecret reads a key or a password: on a terminal after a question, without showing it, else all of stdin.
func (a *App) AskSecret(what string) (secret string, err error) {
	err = a.Await(func() (err error) {
		if !a.Screen.Answers {
			secret, err = ReadSecret(a.In)
			return err
		}
		a.Screen.Ask(terminal.Visible(what) + " (not shown): ")
		typed, err := term.ReadPassword(int(a.In.Fd()))
		secret = strings.TrimSpace(string(typed))
		return err
	})
	return secret, err
}

// ReadSecret reads a key or a password. Any other text is an error.
func ReadSecret(r io.Reader) (string, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxSecret+1))
	if len(content) > maxSecret {
		return "", UsageError("pass the secret alone", "the secret is larger than %d bytes", maxSecret)
	}
	return strings.TrimSpace(string(content)), err
}
