package chat

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/manage"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
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
	source  promptSource
	watcher *watcher // nil: nothing is watched

	commands bool              // lines that begin with / are commands of the conversation
	session  *sdk.Session      // as it was when it was last read; nil: the next prompt starts one
	model    string            // that the user chose, as provider/model; empty: that of the session
	fallback string            // that was found where nobody chose one; until the session has its own
	agent    string            // that the user chose; empty: that of the session
	attached sdk.Parts         // for the next prompt
	answer   *sdk.OutputFormat // that all answers have to meet; nil: any
	failed   error             // the first failure, which was shown
	ended    error             // why the conversation cannot go on
	left     bool              // the user wants to leave
}

// promptSource is where the prompts of a conversation come from. It uses the conversation's keyboard.
type promptSource interface {
	// begin shows that a prompt is waited for. It may be called again after end.
	begin()
	// entry looks for a prompt in what was typed so far.
	entry() promptEntry
	// interrupted is told that Ctrl-C came as a signal, and reports whether that ends the conversation.
	interrupted() bool
	// resized is told that the terminal has another size.
	resized()
	// end leaves the terminal as turns need it. What was typed and not entered is kept.
	end()
	// suggest puts text where the user can edit it, if that is possible.
	suggest(text string)
}

// promptEntry is what a source of prompts has.
type promptEntry struct {
	kind entryKind
	text string
	// verbatim says that text is a prompt, whatever it looks like.
	verbatim bool
	err      error // why it leaves; nil: because the user wants that
}

// entryKind is what to do about an entry.
type entryKind int

const (
	entryNone    entryKind = iota // more input is needed
	entryPrompt                   // text is a prompt, perhaps an empty one
	entryLeave                    // there will be no more
	entrySuspend                  // the user wants the shell for a while
)

func newConversation(a *cli.App, m *cli.Machine, f *turn.Flags, signals <-chan os.Signal) *conversation {
	return &conversation{a: a, m: m, f: f, signals: signals, keys: terminal.NewKeyboard(a.In), model: f.Model, agent: f.Agent}
}

// WatchLines runs the first prompt, and then the lines of stdin, in one session, and closes the machine.
func WatchLines(ctx context.Context, a *cli.App, m *cli.Machine, f *turn.Flags, signals <-chan os.Signal, first *host.PromptInput) error {
	c := newConversation(a, m, f, signals)
	c.source = &lineSource{keys: c.keys}
	return c.hold(ctx, first)
}

// hold runs the first prompt, unless it is empty, and then those of the source, and closes the machine. It ends when the
// source does, with a signal between turns, and where nothing can be shown any more. The error is the first failure
// when nobody was there to see it.
func (c *conversation) hold(ctx context.Context, first *host.PromptInput) (err error) {
	defer func() {
		if !errors.Is(err, cli.ErrHard) {
			err = errors.Join(err, c.watcher.Close())
			turn.ShutDown(ctx, c.a, c.m, c.signals)
		}
	}()
	if c.f.Watch {
		if c.watcher, err = newWatcher(c.m.Options.Plugins); err != nil {
			return err
		}
		c.tell("watching " + strings.Join(c.m.Options.Plugins, ", ") + "; what changes is loaded between turns")
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
		c.take(ctx, promptEntry{text: first.Text})
	}
	for !c.left && c.ended == nil {
		e, more := c.next(ctx)
		if !more {
			break
		}
		c.take(ctx, e)
	}
	switch {
	case c.ended != nil:
		return c.ended
	case c.failed != nil && !c.m.Options.Interactive: // who sat there has seen what failed
		return cli.Shown(c.failed)
	}
	return nil
}

// tell writes a line about the conversation itself.
func (c *conversation) tell(text string) {
	if !c.f.Quiet {
		c.a.Screen.Line(c.a.Screen.Paint(terminal.Dim, terminal.Visible(text)))
	}
}

// problem shows what went wrong, and keeps it when it is the first failure.
func (c *conversation) problem(err error) {
	if c.failed == nil {
		c.failed = err
	}
	words := cli.OnCommandLine()
	if c.commands {
		words = cli.InChat()
	}
	cli.ReportIn(c.a.Mask, words, err)
}

// next waits for the next prompt and loads meanwhile what changed of the plugins. more is false when none will come.
func (c *conversation) next(ctx context.Context) (prompt promptEntry, more bool) {
	resized, stop := terminal.CatchResize()
	defer stop()
	c.source.begin()
	defer c.source.end()
	for {
		switch e := c.source.entry(); e.kind {
		case entryPrompt:
			return e, true
		case entryLeave:
			if e.err != nil {
				c.problem(e.err)
			}
			return e, false
		case entrySuspend:
			c.source.end()
			terminal.Suspend()
			c.source.begin()
			continue
		}
		c.keys.Want()
		select {
		case p := <-c.keys.Pieces:
			c.keys.Took(p)
		case s := <-c.signals:
			if c.interruptedBetween(s) {
				return promptEntry{}, false
			}
		case <-resized:
			c.source.resized()
		case e := <-c.watcher.events():
			if c.watcher.counts(e) {
				c.source.end()
				c.load(ctx)
				c.source.begin()
			}
		case err := <-c.watcher.errors():
			c.a.Log.Warn("changes may have been missed", "err", err)
		}
	}
}

// interruptedBetween reports whether a signal between turns ends the conversation. Who sits there, or develops a plugin,
// leaves with Ctrl-C; for others it is an interruption.
func (c *conversation) interruptedBetween(s os.Signal) bool {
	if s == os.Interrupt && (c.m.Options.Interactive || c.f.Watch) {
		return c.source.interrupted()
	}
	c.ended = cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), c.howToGoOn())
	return true
}

// load loads the plugins anew. What is broken leaves the old ones in place.
func (c *conversation) load(ctx context.Context) {
	c.watcher.settled(ctx)
	err := manage.BuildAll(ctx, c.a, c.m.Options.Plugins)
	if err == nil {
		err = c.m.Reload(ctx)
	}
	c.watcher.settled(ctx) // building writes files of its own
	s := c.a.Screen
	if err != nil {
		s.Line(s.Paint(terminal.Yellow, "not reloaded, the plugins stay as they were: "+terminal.Visible(cli.Remedy(err).Error())))
		return
	}
	s.Line(s.Paint(terminal.Dim, "reloaded "+terminal.Visible(strings.Join(c.m.Options.Plugins, ", "))))
}

// take does what an entry asks for: a command, or a turn.
func (c *conversation) take(ctx context.Context, e promptEntry) {
	if strings.TrimSpace(e.text) == "" {
		return
	}
	if c.commands && !e.verbatim {
		if name, arguments, ok := commandLine(e.text); ok {
			c.command(ctx, name, arguments)
			return
		}
	}
	c.turn(ctx, &host.PromptInput{Text: e.text, Command: c.f.Command, Format: c.answer})
}

// open finds or creates the session that the flags name, once.
func (c *conversation) open(ctx context.Context, in *host.PromptInput) error {
	if c.session == nil {
		f := *c.f
		f.Model, f.Agent, f.Command = c.model, c.agent, in.Command
		s, err := turn.Address(ctx, c.a, c.m, &f, in)
		if err != nil {
			return err
		}
		c.session, c.fallback = s, in.Model
		c.f.Session, c.f.Resume, c.f.Fork, c.f.Title = "", false, false, "" // they were for this one
		return nil
	}
	s, err := c.m.Session(ctx, c.session.ID)
	if err == nil {
		c.session = s
	}
	return err
}

// turn runs a prompt. What fails is shown, and the conversation goes on.
func (c *conversation) turn(ctx context.Context, in *host.PromptInput) {
	in.Model, in.Agent, in.Variant = c.model, c.agent, c.f.Variant
	in.Parts, c.attached = append(in.Parts[:0:0], c.attached...), nil
	c.drive(ctx, func(ctx context.Context) (*sdk.Session, error) {
		if err := c.open(ctx, in); err != nil {
			c.attached = in.Parts // for the next try
			return nil, err
		}
		if in.SessionID = c.session.ID; c.session.Model == nil && in.Model == "" && in.Command == "" {
			in.Model = c.fallback
		}
		return c.session, nil
	}, func(ctx context.Context) (*sdk.MessageWithParts, error) { return c.m.Prompt(ctx, *in) })
}

// drive runs something as a turn: it is shown, may ask, and Ctrl-C ends it.
func (c *conversation) drive(ctx context.Context, begin func(context.Context) (*sdk.Session, error), run func(context.Context) (*sdk.MessageWithParts, error)) {
	t := &turn.Turn{App: c.a, Machine: c.m, Signals: c.signals, Quiet: c.f.Quiet, Talks: c.commands, Begin: begin, Do: run}
	if c.m.Options.Interactive {
		t.Keys = c.keys
	}
	o := t.Run(ctx)
	switch f := (*cli.Failure)(nil); {
	case errors.Is(o.Err, cli.ErrHard):
		c.sayHowToGoOn()
		c.ended = o.Err
	case o.Err == nil:
	case errors.As(o.Err, &f) && f.Code == cli.ExitInterrupted && !o.Leave && c.m.Options.Interactive:
		c.tell("interrupted; what was done so far is stored, and the next prompt goes on from there")
	case errors.As(o.Err, &f) && f.Code == cli.ExitInterrupted:
		c.ended = cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), c.howToGoOn())
	case errors.Is(o.Err, cli.ErrOutput): // nobody reads it
		c.ended = o.Err
	default:
		c.problem(o.Err)
	}
	if o.Leave && c.ended == nil {
		c.ended = cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), c.howToGoOn())
	}
}

// howToGoOn is how to take the conversation up again; empty when nothing was said yet.
func (c *conversation) howToGoOn() string {
	if c.session == nil {
		return ""
	}
	command := "run"
	if c.commands {
		command = "chat"
	}
	return "tenon " + command + " -s " + c.session.ID + " goes on"
}

// sayHowToGoOn tells how to take the conversation up again.
func (c *conversation) sayHowToGoOn() {
	if text := c.howToGoOn(); text != "" {
		c.tell(text)
	}
}

// messages returns the messages of the session that count; none when it has not begun.
func (c *conversation) messages(ctx context.Context) ([]sdk.MessageWithParts, error) {
	if c.session == nil {
		return nil, nil
	}
	page := store.Page{}
	if c.session.Revert != nil {
		page.Before = c.session.Revert.MessageID
	}
	list, err := c.m.Store.Messages(ctx, c.session.ID, page)
	return list, c.a.WithoutDamage(err)
}
