package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// subscriptionSize is how many events may wait for the view before the host waits too.
	subscriptionSize = 256
	// tickEvery is how often what is under way is drawn anew.
	tickEvery = 200 * time.Millisecond
	// abortEvery is how often an interrupt is tried again while the turn has not begun.
	abortEvery = 20 * time.Millisecond
)

// view shows a turn. It is used from one goroutine.
type view interface {
	event(e *sdk.Event)
	// tick draws again what changes with time.
	tick(now time.Time)
	// failed returns why nothing can be shown any more, nil while all is well.
	failed() error
	// finish shows how the turn ended.
	finish(o *turnOutcome) error
}

// turnShown is what views know of the turn before it begins.
type turnShown struct {
	session     *sdk.Session
	directory   string
	retries     int                 // how often a step is tried again
	logsNotices bool                // the log tells of plugins that failed
	clean       func(string) string // takes secrets out of the text of errors
	// remedy returns the text of an error that ends a turn, without secrets, what the user can do about it, and the exit code.
	remedy func(error) (text, fix string, code int)
	talks  bool // the turn is one of a conversation, which says at its end how to go on
}

// turnOutcome is how a turn ended.
type turnOutcome struct {
	message *sdk.MessageWithParts // the last one; nil when the turn did not get that far
	err     error
	took    time.Duration
	leave   bool // a signal asked for more than the end of the turn: that of the process
}

// oneTurn is one turn as a command runs it: events go to the view, questions to the user, interrupts to the host.
type oneTurn struct {
	a       *app
	m       *machine
	signals <-chan os.Signal
	format  string
	quiet   bool
	talks   bool      // the turn is one of a conversation
	keys    *keyboard // of the user who answers questions; nil: they are refused
	// begin finds or creates the session.
	begin func(context.Context) (*sdk.Session, error)
	// run runs the turn.
	run func(context.Context) (*sdk.MessageWithParts, error)

	session string // empty until it has begun
	view    view
	asker   *asker // nil: there is no user to ask

	held        []sdk.Event // while a question is on the screen
	interrupted bool
	leave       bool             // by more than Ctrl-C
	broken      error            // the view cannot show any more
	again       <-chan time.Time // tries the abort again
}

// drive begins the turn, runs it, and returns when it has ended; at the second interrupt the error is errHard.
func (t *oneTurn) drive(ctx context.Context) *turnOutcome {
	sub := t.m.Subscribe(subscriptionSize, true)
	defer sub.Close()
	s, err := t.begin(ctx)
	if err != nil {
		return &turnOutcome{err: err}
	}
	t.session, t.view = s.ID, t.newView(s)
	if t.keys != nil {
		t.asker = newAsker(t.a.screen, t.keys, t.m.Host)
	}
	return t.loop(ctx, sub.Events())
}

// driveAndClose runs the turn and closes the machine.
func (t *oneTurn) driveAndClose(ctx context.Context) error {
	o := t.drive(ctx)
	if errors.Is(o.err, errHard) {
		return o.err
	}
	if !shutDown(ctx, t.a, t.m, t.signals) && t.session != "" && o.err != nil {
		return errHard
	}
	return o.err // after the turn only the shutdown was cut short
}

// shutDown closes the machine and reports whether that was done; a signal cuts it short.
func shutDown(ctx context.Context, a *app, m *machine, signals <-chan os.Signal) bool {
	closed := make(chan error, 1)
	go func() { closed <- m.Close(context.WithoutCancel(ctx)) }() // ends when the host is closed; waited for below
	select {
	case err := <-closed:
		if err != nil {
			a.log.Warn("not shut down cleanly", "err", err)
		}
		return true
	case <-signals:
		return false
	}
}

func (t *oneTurn) newView(s *sdk.Session) view {
	a, words := t.a, onCommandLine()
	if t.talks {
		words = inChat()
	}
	shown := &turnShown{
		session: s, directory: t.m.workspace.project.Directory, retries: retryLimit(t.m.Config()),
		logsNotices: a.level.Level() <= slog.LevelWarn, clean: a.mask.clean, talks: t.talks,
		remedy: func(err error) (text, fix string, code int) {
			f := words.remedy(err)
			return a.mask.clean(f.err.Error()), f.fix, f.code
		},
	}
	if t.format == "json" {
		return newJSONView(a.out, shown)
	}
	return newTextView(a.screen, a.out, a.mask, shown, t.quiet)
}

func retryLimit(c *sdk.Config) int {
	if c.Retry.Max != nil {
		return *c.Retry.Max
	}
	return 5 // the documented default
}

func (t *oneTurn) loop(ctx context.Context, events <-chan sdk.Event) *turnOutcome {
	begun := time.Now()
	ended := make(chan *turnOutcome, 1)
	go func() { // ends with the turn
		m, err := t.run(ctx)
		ended <- &turnOutcome{message: m, err: err, took: time.Since(begun)}
	}()
	ticks := time.NewTicker(tickEvery)
	defer ticks.Stop()
	if !t.a.screen.live {
		ticks.Stop()
	}
	for {
		select {
		case e, open := <-events:
			if !open {
				events = nil
				continue
			}
			t.take(e)
		case p := <-t.answers():
			t.asker.input(p)
			t.release()
		case now := <-ticks.C:
			t.tick(now)
		case s := <-t.signals:
			if t.interrupted {
				return &turnOutcome{err: errHard}
			}
			t.interrupted, t.leave = true, s != os.Interrupt
			t.a.screen.line("interrupting the turn (once more: leave at once)")
			t.abort()
		case <-t.again:
			t.abort()
		case o := <-ended:
			t.drain(events)
			return t.finish(o)
		}
		t.checkView()
	}
}

// answers is where what the user types comes from.
func (t *oneTurn) answers() <-chan piece {
	if t.asker == nil {
		return nil
	}
	return t.asker.keys.pieces
}

// take shows an event, later when a question stands on the screen.
func (t *oneTurn) take(e sdk.Event) {
	if t.asker != nil {
		t.asker.event(&e)
		if t.asker.asking() {
			t.held = append(t.held, e)
			return
		}
		t.release()
	}
	t.view.event(&e)
}

// release shows what was held back, once no question stands on the screen.
func (t *oneTurn) release() {
	for len(t.held) > 0 && !t.asker.asking() {
		e := t.held[0]
		t.held = t.held[1:]
		t.view.event(&e)
	}
}

func (t *oneTurn) tick(now time.Time) {
	if t.asker == nil || !t.asker.asking() {
		t.view.tick(now)
	}
}

// abort ends the turn. One that has not begun yet is tried again.
func (t *oneTurn) abort() {
	t.again = nil
	if !t.m.Abort(t.session) {
		t.again = time.After(abortEvery)
	}
}

// checkView ends a turn whose output nobody reads any more.
func (t *oneTurn) checkView() {
	if t.broken != nil {
		return
	}
	if t.broken = t.view.failed(); t.broken != nil {
		t.abort()
	}
}

// drain shows what was published before the turn ended.
func (t *oneTurn) drain(events <-chan sdk.Event) {
	if t.asker != nil {
		t.asker.withdraw()
		t.release()
	}
	for {
		select {
		case e, open := <-events:
			if !open {
				return
			}
			t.view.event(&e)
		default:
			return
		}
	}
}

func (t *oneTurn) finish(o *turnOutcome) *turnOutcome {
	var te *host.TurnError
	o.leave = t.leave
	if t.interrupted && errors.As(o.err, &te) && te.Named.Name == sdk.ErrorAborted {
		o.err = fail(exitInterrupted, errors.New("interrupted"), "tenon run -s "+t.session+" goes on where this stopped")
	}
	if t.broken != nil {
		o.err = outputError(t.broken)
		return o
	}
	if err := t.view.finish(o); err != nil && o.err == nil {
		o.err = outputError(err)
	}
	return o
}
