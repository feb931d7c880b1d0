// Package tui is the full-screen terminal UI: one bubbletea model (model.go) that receives keys and host events as messages, routes
// them to its parts, and assembles the lines of the screen (view.go). The parts are plain structs that know neither the model nor the
// host: dialogs (tui/dialog) pass the user's choice to a function of the model; a session's items (tui/transcript) render lines for a
// width. Update and View never wait: commands (actions.go) do. Text from outside passes internal/visible before it is drawn.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/pages"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/pace"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/past"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/settings"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/internal/markdown"
	"github.com/tenonhq/tenon/sdk"
)

// options configure the model.
type options struct {
	version                       string
	directory, shortDir, worktree string
	terminal                      *os.File     // input of the user's editor
	editor                        []string     // words of the user's editor; empty: none is set
	session                       *sdk.Session // named on the command line; nil: a new one
	title                         string
	prompt                        host.PromptInput // text and files from the command line
	agent, model, effort          string
	auto                          bool              // actions that no rule denies are allowed without a question
	settings                      settings.Settings // at the start
	settingsFile                  string
	past                          *past.History
	explain                       func(error) string                            // returns an error with its remedy
	remedy                        func(error) string                            // returns only the remedy
	clean                         func(string) string                           // masks secrets
	browse                        func(address string) (opened bool, err error) // opens the user's browser, if one is available
}

const (
	// maxFarewell is the maximum number of lines of the last answer printed at the exit.
	maxFarewell = 200
	// eventRoom is the number of events queued for the screen before the host waits.
	eventRoom = 1024
)

// Command returns "tenon tui".
func Command(a *cli.App) cli.Command {
	f := turn.Flags{Chat: true}
	return cli.Command{
		Run:  func(cmd *cobra.Command, args []string) error { return Run(cmd.Context(), a, &f, args) },
		More: f.Register,
	}
}

// Run opens the terminal UI and returns when the user leaves it.
func Run(ctx context.Context, a *cli.App, f *turn.Flags, args []string) error {
	if !a.Screen.Answers || !a.Screen.Streams || !a.Screen.Live {
		return cli.UsageError("use tenon chat or tenon run", "the terminal UI needs a terminal that can move the cursor")
	}
	m, in, err := turn.Prepare(ctx, a, f, args, true)
	if err != nil {
		return err
	}
	signals, stop := a.TakeSignals()
	defer stop()
	s := &session{a: a, m: m, f: f, in: in, signals: signals, logs: make(chan string, 64)}
	end, err := s.run(ctx)
	farewell := ""
	if end != nil {
		farewell = end.farewell(ctx, a)
	}
	if !turn.ShutDown(ctx, m, signals) || errors.Is(err, cli.ErrHard) {
		return cli.ErrHard // silently: the terminal may accept no output
	}
	return errors.Join(err, a.Print(farewell))
}

// session runs the terminal UI once.
type session struct {
	a       *cli.App
	m       *cli.Machine
	f       *turn.Flags
	in      *host.PromptInput
	signals <-chan os.Signal
	logs    chan string
}

// run shows the screen until the user exits, and returns the final model.
func (s *session) run(ctx context.Context) (*model, error) {
	defer s.a.Divert(s)()
	o, err := s.options(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sub := s.m.Subscribe(eventRoom, true)
	defer sub.Close()
	m := newModel(ctx, frontend.Local{Machine: s.m}, o)
	defer m.images.remove()
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(&wholeInput{File: s.a.In}), tea.WithOutput(s.a.Out), tea.WithEnvironment(s.a.Env), tea.WithoutSignalHandler())
	p := &pace.Pace{Program: program, Rested: pages.Release}
	defer p.Stop()
	m.changed, m.post = p.Changed, program.Send
	pumped := make(chan struct{})
	go func() { // ends with the context or the subscription; waited for below
		defer close(pumped)
		s.pump(ctx, program, sub.Events())
	}()
	err = s.untilSignal(program, m)
	cancel()
	sub.Close()
	<-pumped
	switch {
	case errors.Is(err, cli.ErrHard):
		return nil, err
	case errors.Is(err, tea.ErrProgramPanic):
		return m, cli.Fail(cli.ExitTurn, errors.New("the terminal UI crashed"), "report the text above")
	}
	return m, err
}

// patience is the time limit for the last output after a signal.
const patience = 3 * time.Second

// untilSignal runs the program until the user exits or a signal ends it. At the second signal, or if the terminal accepts no output (a broken
// connection), it returns cli.ErrHard without waiting for the program. It waits for the user's editor, which may hold unsaved text.
func (s *session) untilSignal(program *tea.Program, m *model) error {
	dump := make(chan os.Signal, 1) // by default the process would print its goroutines and exit, and leave the terminal in raw mode
	if !signal.Ignored(syscall.SIGQUIT) {
		signal.Notify(dump, syscall.SIGQUIT)
	}
	defer signal.Stop(dump)
	ended := make(chan error, 1)
	go func() { // ends with the program, or with the process
		_, err := program.Run()
		ended <- err
	}()
	over, quits := make(chan struct{}), false
	for {
		var sig os.Signal
		select {
		case err := <-ended:
			if err == nil && quits {
				return cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), "")
			}
			return err
		case <-over:
			return cli.ErrHard
		case sig = <-s.signals:
		case sig = <-dump:
		}
		switch {
		case sig == os.Interrupt, sig == syscall.SIGQUIT && quits: // ctrl+c is a key here; the signals are for the user's editor
		case quits:
			return cli.ErrHard
		default:
			quits = true
			go func() { // ends with the editor and the program
				m.editors.Wait()
				time.AfterFunc(patience, func() { close(over) })
				program.Send(then(m.quit))
			}()
		}
	}
}

// options returns the options of the model.
func (s *session) options(ctx context.Context) (options, error) {
	w := s.m.Workspace
	earlier, err := past.Open(filepath.Join(w.Project.DataDir, past.Name))
	if err != nil {
		s.a.Log.Warn("the prompt history cannot be read", "err", err)
	}
	file := filepath.Join(w.Project.DataDir, settings.FileName)
	chosen, err := settings.Read(file)
	if err != nil {
		s.a.Log.Warn("the settings of the terminal UI cannot be read", "err", err)
	}
	o := options{
		version: s.a.Version, directory: w.Project.Directory, shortDir: short(w.Project.Directory, w.Project.Home), worktree: w.Project.Worktree,
		terminal: s.a.In, editor: s.a.Editor(), prompt: *s.in, title: s.f.Title,
		agent: s.f.Agent, model: s.f.Model, effort: s.f.Variant, auto: s.f.Auto, settings: chosen, past: earlier,
		settingsFile: file, clean: s.a.Mask.Clean, browse: s.a.Browse,
		explain: func(err error) string { return s.a.Mask.Clean(explained(err)) },
		remedy:  func(err error) string { return cli.InChat().Remedy(err).Fix },
	}
	if s.f.Session != "" || s.f.Resume {
		o.session, err = turn.Address(ctx, s.m, s.f, s.in)
		return o, err
	}
	return o, nil
}

// explained returns an error with its remedy.
func explained(err error) string {
	f := cli.InChat().Remedy(err)
	if f.Fix == "" {
		return f.Err.Error()
	}
	return f.Err.Error() + " · " + f.Fix
}

// short abbreviates the home directory in a path as ~.
func short(dir, home string) string {
	if rel, err := filepath.Rel(home, dir); err == nil && home != "" && filepath.IsLocal(rel) {
		return filepath.Join("~", rel)
	}
	return dir
}

// Write passes a record of the log to the screen.
func (s *session) Write(p []byte) (int, error) {
	select {
	case s.logs <- strings.TrimSpace(terminal.StripSGR(string(p))):
	default: // too many; the first records matter most
	}
	return len(p), nil
}

var _ io.Writer = (*session)(nil)

// pump passes events and log records to the program until the context or the subscription ends. It never stops reading, so the
// host does not wait for a program that waits for the user's editor. Events that arrive in the meantime are sent as one batch.
func (s *session) pump(ctx context.Context, program *tea.Program, events <-chan sdk.Event) {
	type arrived struct {
		events eventsMsg
		lines  []string
	}
	out := make(chan arrived)
	sent := make(chan struct{})
	go func() { // ends with out; waited for below
		defer close(sent)
		for batch := range out {
			program.Send(batch.events)
			for _, line := range batch.lines {
				program.Send(logMsg(line))
			}
			select {
			case <-ctx.Done():
			case <-time.After(pace.Frame):
			}
		}
	}()
	defer func() {
		close(out)
		<-sent
	}()
	var pending arrived
	for {
		var ready chan arrived
		if len(pending.events)+len(pending.lines) > 0 {
			ready = out
		}
		select {
		case <-ctx.Done():
			return
		case line := <-s.logs:
			pending.lines = append(pending.lines, line)
		case ready <- pending:
			pending = arrived{}
		case e, open := <-events:
			if !open {
				return
			}
			pending.events = append(pending.events, e)
		}
	}
}

// farewell returns the text printed at the exit: the last answer, the changed files, and the command that
// continues the session.
func (m *model) farewell(ctx context.Context, a *cli.App) string {
	if m.root == "" {
		return ""
	}
	var b strings.Builder
	if answer := strings.TrimSpace(m.main().Answer()); answer != "" {
		lines := markdown.Render(answer, a.Screen.Width(), a.Screen.Style())
		if over := len(lines) - maxFarewell; over > 0 {
			fmt.Fprintln(&b, a.Screen.Paint(terminal.Dim, fmt.Sprintf("… %s; tenon session show prints all", view.Plural(over, "line"))))
			lines = lines[over:]
		}
		for _, line := range lines {
			fmt.Fprintln(&b, line)
		}
		b.WriteByte('\n')
	}
	if diff, list, err := changes(ctx, m, m.root); err == nil && len(list) > 0 { // without undo, changes are unknown
		fmt.Fprintf(&b, "%s changed, +%d -%d\n", view.Plural(len(list), "file"), diff.Additions, diff.Deletions)
		for i := range list {
			fmt.Fprintf(&b, "  %s  %s\n", list[i].Status, terminal.OneLine(list[i].Path))
		}
	}
	fmt.Fprintf(&b, "%s\n", a.Screen.Paint(terminal.Dim, "Continue this session with: tenon tui -s "+m.root))
	return b.String()
}
