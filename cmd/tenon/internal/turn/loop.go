package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// subscriptionSize is the number of events that are queued for the view before the host waits.
	subscriptionSize = 256
	// tickEvery is the interval at which running work is redrawn.
	tickEvery = 200 * time.Millisecond
	// abortEvery is the interval at which an interrupt is retried until the turn has started.
	abortEvery = 20 * time.Millisecond
	// longAnswer is the size in bytes of streamed text from which garbage is collected more often: after the memory in use grows by
	// longAnswerGC percent. By default, a few copies of a long text could double the memory; collecting them costs little.
	longAnswer   = 1 << 20
	longAnswerGC = 10
)

// display shows a turn. It is used from one goroutine.
type display interface {
	// Event shows an event.
	Event(e *sdk.Event)
	// Tick redraws times and other changing parts.
	Tick(now time.Time)
	// Failed returns the first output error, or nil.
	Failed() error
	// Finish shows the outcome of the turn.
	Finish(o *view.Outcome) error
}

// Turn runs one turn of a command: it passes events to the view, questions to the user, and interrupts to the host.
type Turn struct {
	Machine *cli.Machine
	Signals <-chan os.Signal
	Quiet   bool
	Raw     bool               // Markdown is not rendered
	InChat  bool               // the turn belongs to a chat
	Fresh   bool               // the session is new, and is deleted again if nothing in it can be continued
	Keys    *terminal.Keyboard // source of answers to questions; nil: questions are refused
	// Begin finds or creates the session.
	Begin func(context.Context) (*sdk.Session, error)
	// Do runs the turn in the session with this ID.
	Do func(ctx context.Context, session string) (*sdk.MessageWithParts, error)

	session  string          // empty before Begin returned
	calls    map[string]bool // finished tool calls by ID; true: refused because no user could be asked
	streamed int             // number of bytes of text and arguments
	usualGC  int             // GC percentage to restore; 0: unchanged
	view     display
	asker    *asker // nil: no user to ask

	held        []sdk.Event // events that wait for the end of a question
	interrupted bool
	leave       bool             // a signal other than Ctrl-C arrived
	broken      error            // error of the view
	again       <-chan time.Time // fires at the next attempt to abort
}

// Run runs the turn and returns its outcome. At the second interrupt, it returns immediately with cli.ErrHard.
func (t *Turn) Run(ctx context.Context) *view.Outcome {
	sub := t.Machine.Subscribe(subscriptionSize, true)
	defer sub.Close()
	s, err := t.Begin(ctx)
	if err != nil {
		return &view.Outcome{Err: err}
	}
	t.session, t.view, t.calls = s.ID, t.newView(s), map[string]bool{}
	if t.Keys != nil {
		t.asker = &asker{s: t.app().Screen, keys: t.Keys, host: t.Machine.Host, directory: t.Machine.Workspace.Project.Directory}
	}
	return t.loop(ctx, sub.Events())
}

func (t *Turn) app() *cli.App { return t.Machine.Workspace.App }

// RunAndClose runs the turn and closes the machine.
func (t *Turn) RunAndClose(ctx context.Context) error {
	o := t.Run(ctx)
	if errors.Is(o.Err, cli.ErrHard) {
		return o.Err
	}
	if !ShutDown(ctx, t.Machine, t.Signals) && t.session != "" && o.Err != nil {
		return cli.ErrHard
	}
	return o.Err // only the shutdown was cut short, if anything
}

// ShutDown closes the machine. It returns false if a signal arrived first.
func ShutDown(ctx context.Context, m *cli.Machine, signals <-chan os.Signal) bool {
	closed := make(chan error, 1)
	go func() { closed <- m.Close(context.WithoutCancel(ctx)) }() // ends when the host is closed; waited for below
	select {
	case err := <-closed:
		if err != nil {
			m.Workspace.App.Log.Warn("shutdown failed", "err", err)
		}
		return true
	case <-signals:
		return false
	}
}

func (t *Turn) newView(s *sdk.Session) display {
	a, words := t.app(), cli.OnCommandLine()
	if t.InChat {
		words = cli.InChat()
	}
	shown := &view.Turn{
		Session: s, Directory: t.Machine.Workspace.Project.Directory, Retries: model.Retries(t.Machine.Config().Retry),
		LogsNotices: a.Level <= slog.LevelWarn, Clean: a.Mask.Clean, Raw: t.Raw, InChat: t.InChat,
		Remedy: func(err error) (text, fix string, code int) {
			f := words.Remedy(err)
			return a.Mask.Clean(f.Err.Error()), f.Fix, f.Code
		},
	}
	if a.JSON {
		return view.NewJSON(a.Out, shown)
	}
	return view.NewText(a.Screen, a.Out, a.Mask, shown, t.Quiet)
}

func (t *Turn) loop(ctx context.Context, events <-chan sdk.Event) *view.Outcome {
	begun := time.Now()
	ended := make(chan *view.Outcome, 1)
	go func() { // ends with the turn
		m, err := t.Do(ctx, t.session)
		ended <- &view.Outcome{Message: m, Err: err, Took: time.Since(begun)}
	}()
	ticks := time.NewTicker(tickEvery)
	defer ticks.Stop()
	if !t.app().Screen.Live {
		ticks.Stop()
	}
	var answers <-chan terminal.Piece // typed input
	if t.Keys != nil {
		answers = t.Keys.Pieces
	}
	for {
		select {
		case e := <-events:
			t.take(e)
		case p := <-answers:
			t.asker.input(p)
			t.release()
		case now := <-ticks.C:
			if !t.asker.asking() {
				t.view.Tick(now)
			}
		case s := <-t.Signals:
			if t.interrupted {
				return &view.Outcome{Err: cli.ErrHard}
			}
			t.interrupted, t.leave = true, s != os.Interrupt
			t.app().Say("interrupting the turn (press Ctrl-C again to exit immediately)")
			t.abort()
		case <-t.again:
			t.abort()
		case o := <-ended:
			t.asker = nil // questions can no longer be answered
			t.release()
			for len(events) > 0 {
				t.take(<-events)
			}
			return t.finish(ctx, o)
		}
		if err := t.view.Failed(); err != nil && t.broken == nil { // the output can no longer be written
			t.broken = err
			t.abort()
		}
	}
}

// take shows an event, or holds it back while a question is on the screen.
func (t *Turn) take(e sdk.Event) {
	switch p := e.Properties.(type) {
	case *sdk.PartDelta:
		if t.streamed += len(p.Delta); t.streamed > longAnswer && t.usualGC == 0 {
			t.usualGC = debug.SetGCPercent(longAnswerGC)
		}
	case *sdk.PartInfo:
		if call, ok := p.Part.(*sdk.ToolPart); ok && !call.State.Open() {
			t.calls[call.ID] = call.State.Metadata["refusedBy"] == "headless"
		}
	}
	if t.asker != nil {
		t.asker.event(&e)
	}
	t.held = append(t.held, e)
	t.release()
}

// release shows the held events unless a question is on the screen.
func (t *Turn) release() {
	if !t.asker.asking() {
		for i := range t.held {
			t.view.Event(&t.held[i])
		}
		t.held = nil
	}
}

// abort aborts the turn. If it has not started yet, abort is retried.
func (t *Turn) abort() {
	t.again = nil
	if !t.Machine.Abort(t.session) {
		t.again = time.After(abortEvery)
	}
}

func (t *Turn) finish(ctx context.Context, o *view.Outcome) *view.Outcome {
	if t.usualGC != 0 {
		defer debug.SetGCPercent(t.usualGC)
	}
	var te *host.TurnError
	o.Leave = t.leave
	if t.interrupted && errors.As(o.Err, &te) && te.Named.Name == sdk.ErrorAborted {
		o.Err = cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), "tenon run -s "+t.session+` "continue" continues where this stopped`)
	}
	if t.broken != nil {
		o.Err = cli.OutputError(t.broken)
		return o
	}
	if t.Fresh && o.Err != nil && !t.interrupted {
		t.discard(ctx, o)
	}
	refused := t.allRefused(o)
	if t.app().JSON && refused != nil {
		o.Err = refused
	}
	if err := t.view.Finish(o); err != nil && o.Err == nil {
		o.Err = cli.OutputError(err)
	}
	if o.Err == nil {
		o.Err = refused // the answer is printed before the error
	}
	return o
}

// allRefused returns the error of a run whose tool calls were all refused because no user could be asked; nil for others.
func (t *Turn) allRefused(o *view.Outcome) error {
	if t.InChat || o.Err != nil || len(t.calls) == 0 || slices.Contains(slices.Collect(maps.Values(t.calls)), false) {
		return nil
	}
	return cli.Fail(cli.ExitRefused, fmt.Errorf("every tool call was refused (%d)", len(t.calls)),
		"allow them with rules under permission in tenon.json; --auto allows those that need no rule; tenon session show prints the calls")
}

// ran reports whether shell commands of a command's template ran.
func ran(ledger []store.LedgerRow) bool {
	return slices.ContainsFunc(ledger, func(row store.LedgerRow) bool {
		var entries []hooks.Entry
		return json.Unmarshal(row.Entries, &entries) != nil || slices.ContainsFunc(entries, func(e hooks.Entry) bool {
			return e.Point == host.PointPluginCall && e.Outcome != hooks.OutcomeDenied
		})
	})
}

// discard deletes the session of a failed turn if nothing in it can be continued: the prompt was refused before it was stored, or the model
// cannot be used or reached and has not answered.
func (t *Turn) discard(ctx context.Context, o *view.Outcome) {
	s := t.Machine.Store
	messages, err := s.Messages(ctx, t.session, store.Page{})
	ledger, ledgerErr := s.Ledger(ctx, t.session, "")
	waiting, waitErr := s.Prompts(ctx, t.session) // prompts may be waiting, for example after a disk error
	answered := slices.ContainsFunc(messages, func(m sdk.MessageWithParts) bool { return view.AnswerText(&m) != "" })
	switch {
	case cmp.Or(err, ledgerErr, waitErr) != nil, len(waiting) > 0, answered, len(t.calls) > 0:
		return
	case len(messages) > 0 && !model.Unreachable(o.Err) && !errors.Is(o.Err, host.ErrModel):
		return
	case len(messages) == 0 && ran(ledger):
		return
	}
	if err := s.Delete(ctx, t.session); err != nil {
		t.app().Log.Debug("session without an answer kept", "session", t.session, "err", err)
		return
	}
	o.Message = nil // no session to continue
}
