package chat

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// conversation runs one turn after another in a session: "tenon chat" and "tenon run --watch". It is used from one
// goroutine.
type conversation struct {
	a       *cli.App
	m       *cli.Machine
	f       *turn.Flags
	signals <-chan os.Signal
	keys    *terminal.Keyboard
	lineInput
	watcher *watcher // nil: no plugins are watched

	commands bool              // lines that begin with / are commands
	session  *sdk.Session      // as last read; nil: the next prompt starts one
	model    string            // chosen by the user, as provider/model; empty: the session's
	fallback string            // default model until the session has one
	agent    string            // chosen by the user; empty: the session's
	attached sdk.Parts         // attachments of the next prompt
	answer   *sdk.OutputFormat // required format of all answers; nil: any
	failed   error             // first error, already shown
	ended    error             // reason why the conversation must end
	left     bool              // the user wants to exit
}

func newConversation(m *cli.Machine, f *turn.Flags, signals <-chan os.Signal) *conversation {
	return &conversation{
		a: m.Workspace.App, m: m, f: f, signals: signals, keys: terminal.NewKeyboard(m.Workspace.App.In), model: f.Model, agent: f.Agent,
	}
}

// WatchLines runs the first prompt, and then the lines of stdin, in one session, and closes the machine.
func WatchLines(ctx context.Context, m *cli.Machine, f *turn.Flags, signals <-chan os.Signal, first *host.PromptInput) error {
	return newConversation(m, f, signals).hold(ctx, first)
}

// hold runs the first prompt, unless it is empty, and then the prompts of the source, and closes the machine. It ends with the source, at a
// signal between turns, or when the output cannot be written. It returns the first error, unless an interactive user has seen it.
func (c *conversation) hold(ctx context.Context, first *host.PromptInput) (err error) {
	defer func() {
		if !errors.Is(err, cli.ErrHard) {
			c.watcher.Close()
			turn.ShutDown(ctx, c.m, c.signals)
		}
	}()
	if c.f.Watch {
		if c.watcher, err = newWatcher(c.m.Options.Plugins); err != nil {
			return err
		}
		c.notify("watching " + strings.Join(c.m.Options.Plugins, ", ") + "; changes are loaded between turns")
	}
	if c.f.Session != "" || c.f.Resume {
		if err := c.open(ctx, &host.PromptInput{}); err != nil {
			return err
		}
		if c.commands && c.m.Options.Interactive {
			if err := c.recall(ctx); err != nil {
				return err
			}
		}
	}
	c.attached, c.answer = first.Parts, first.Format
	if first.Text != "" {
		c.take(ctx, &promptEntry{text: first.Text})
	}
	for !c.left && c.ended == nil && ctx.Err() == nil {
		e := c.next(ctx)
		if e == nil {
			break
		}
		c.take(ctx, e)
	}
	switch {
	case c.ended != nil:
		return c.ended
	case c.failed != nil && !c.m.Options.Interactive:
		return cli.Shown(c.failed)
	}
	return nil
}

// notify writes a line about the conversation itself, unless it is empty.
func (c *conversation) notify(text string) {
	if !c.f.Quiet && text != "" {
		s := c.a.Screen
		s.Line(s.Paint(terminal.Dim, s.Wrapped(terminal.Visible(text))))
	}
}

// problem shows an error, and keeps the first one.
func (c *conversation) problem(err error) {
	c.failed = cmp.Or(c.failed, err)
	words := cli.OnCommandLine()
	if c.commands {
		words = cli.InChat()
	}
	cli.ReportIn(c.a.Mask, words, err)
}

// interruptedBetween reports whether a signal between turns ends the conversation. An interactive user exits with Ctrl-C; otherwise,
// it is an interruption.
func (c *conversation) interruptedBetween(s os.Signal) bool {
	if s == os.Interrupt && (c.m.Options.Interactive || c.f.Watch) {
		return c.interruptedLine()
	}
	c.ended = cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), c.resume())
	return true
}

// load builds and reloads the plugins, until a signal. On an error, the old ones stay in use. It reports whether the conversation ends.
func (c *conversation) load(ctx context.Context) (ends bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loaded := make(chan error, 1)
	go func() { // ends soon after ctx; waited for below
		err := manage.BuildAll(ctx, c.a, c.m.Options.Plugins)
		if err == nil {
			err = c.m.Reload(ctx)
		}
		loaded <- err
	}()
	var err error
	select {
	case err = <-loaded:
	case s := <-c.signals:
		cancel()
		err = <-loaded
		ends = s != os.Interrupt && c.interruptedBetween(s)
	}
	c.watcher.loaded, _ = c.watcher.files() // the build writes files
	s := c.a.Screen
	if err != nil {
		s.Line(s.Paint(terminal.Yellow, "reload failed; the old plugins stay loaded: "+terminal.Visible(c.a.Mask.Clean(cli.Remedy(err).Error()))))
		return ends
	}
	s.Line(s.Paint(terminal.Dim, "reloaded "+terminal.Visible(strings.Join(c.m.Options.Plugins, ", "))))
	return ends
}

// refresh loads the plugins, servers and command hooks that were approved in another terminal, and credentials.
func (c *conversation) refresh(ctx context.Context) {
	names, err := c.m.Refresh(ctx)
	switch {
	case err != nil:
		c.a.Log.Warn("changes made in another terminal cannot be loaded", "err", err)
	case len(names) > 0:
		c.notify("approved and loaded: " + strings.Join(names, ", "))
	}
}

// take runs an entry: a command or a turn.
func (c *conversation) take(ctx context.Context, e *promptEntry) {
	if strings.TrimSpace(e.text) == "" {
		return
	}
	c.refresh(ctx)
	if c.commands && !e.verbatim {
		if line, ok := strings.CutPrefix(e.text, "!"); ok {
			c.shell(ctx, strings.TrimSpace(line))
			return
		}
		if name, arguments, ok := commandLine(e.text); ok {
			c.command(ctx, name, arguments)
			return
		}
	}
	c.turn(ctx, &host.PromptInput{Text: e.text, Command: c.f.Command, Format: c.answer})
}

// open finds or creates the session selected by the flags; later calls refresh it.
func (c *conversation) open(ctx context.Context, in *host.PromptInput) error {
	if c.session == nil {
		f := *c.f
		f.Model, f.Agent, f.Command = c.model, c.agent, in.Command
		s, err := turn.Address(ctx, c.m, &f, in)
		if err != nil {
			return err
		}
		c.session, c.fallback = s, in.Model
		c.f.Session, c.f.Resume, c.f.Fork, c.f.Title = "", false, false, "" // these flags apply only to the first session
		return nil
	}
	s, err := c.m.Session(ctx, c.session.ID)
	if err == nil {
		c.session = s
	}
	return err
}

// turn runs a prompt and returns its answer. Errors are shown, and the conversation continues.
func (c *conversation) turn(ctx context.Context, in *host.PromptInput) *sdk.MessageWithParts {
	in.Model, in.Agent, in.Variant = c.model, c.agent, c.f.Variant
	in.Parts, c.attached = append(in.Parts[:0:0], c.attached...), nil
	return c.drive(ctx, func(ctx context.Context) (*sdk.Session, error) {
		if err := c.open(ctx, in); err != nil {
			c.attached = in.Parts // for the next attempt
			return nil, err
		}
		if in.SessionID = c.session.ID; c.session.Model == nil && in.Model == "" && in.Command == "" {
			in.Model = c.fallback
		}
		return c.session, nil
	}, func(ctx context.Context, _ string) (*sdk.MessageWithParts, error) { return c.m.Prompt(ctx, *in) })
}

// shell runs a shell command of the user, if permissions allow it, and shows its output. The model sees both with the next prompt.
func (c *conversation) shell(ctx context.Context, line string) {
	if line == "" {
		c.problem(cli.UsageError("write the command after it, as in !git status", "no shell command after the !"))
		return
	}
	if m := c.turn(ctx, &host.PromptInput{Text: line, Shell: true, NoReply: true}); m != nil {
		_, output, _ := strings.Cut(view.PromptText(m.Parts), "\n") // after the line with the command
		c.a.Say("%s", cmp.Or(strings.TrimRight(output, "\n"), "(no output)"))
	}
}

// drive runs a turn: it shows the turn, asks the user its questions, and interrupts it at Ctrl-C. It returns the last message, or nil after an
// error.
func (c *conversation) drive(ctx context.Context, begin func(context.Context) (*sdk.Session, error), run func(context.Context, string) (*sdk.MessageWithParts, error)) *sdk.MessageWithParts {
	t := &turn.Turn{Machine: c.m, Signals: c.signals, Quiet: c.f.Quiet, Raw: c.f.Raw, InChat: c.commands, Begin: begin, Do: run}
	if c.m.Options.Interactive {
		t.Keys = c.keys
	}
	o := t.Run(ctx)
	refusal := (*sdk.Refusal)(nil)
	switch f := (*cli.Failure)(nil); {
	case errors.Is(o.Err, cli.ErrHard):
		c.notify(c.resume())
		c.ended = o.Err
	case o.Err == nil:
		return o.Message
	case errors.As(o.Err, &refusal) && refusal.By == "user" && c.m.Options.Interactive:
		c.notify("You rejected the call. The next prompt continues from there.")
	case errors.As(o.Err, &f) && f.Code == cli.ExitInterrupted && !o.Leave && c.m.Options.Interactive:
		c.notify("interrupted; everything so far is stored, and the next prompt continues from there")
	case errors.As(o.Err, &f) && f.Code == cli.ExitInterrupted:
		o.Leave = true
	case errors.Is(o.Err, cli.ErrOutput):
		c.ended = o.Err
	default:
		c.problem(o.Err)
	}
	if o.Leave && c.ended == nil {
		c.ended = cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), c.resume())
	}
	return nil
}

// resume returns the command that continues the conversation later; empty without a session.
func (c *conversation) resume() string {
	if c.session == nil {
		return ""
	}
	command := "run"
	if c.commands {
		command = "chat"
	}
	return "continue this session with: tenon " + command + " -s " + c.session.ID
}
