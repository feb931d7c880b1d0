package main

import (
	"context"
	"errors"
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

// turnHost is what the loop needs of the host.
type turnHost interface {
	Abort(session string) bool
}

// turnShown is what views know of the turn before it begins.
type turnShown struct {
	session     *sdk.Session
	directory   string
	retries     int                 // how often a step is tried again
	logsNotices bool                // the log tells of plugins that failed
	clean       func(string) string // takes secrets out of the text of errors
	talks       bool                // the turn is one of a conversation, which says at its end how to go on
}

// turnOutcome is how a turn ended.
type turnOutcome struct {
	message *sdk.MessageWithParts // the last one; nil when the turn did not get that far
	err     error
	took    time.Duration
	leave   bool // a signal asked for more than the end of the turn: that of the process
}

// turnLoop runs one turn: events go to the view, questions to the user, interrupts to the host.
type turnLoop struct {
	host    turnHost
	view    view
	asker   *asker // nil: nobody answers
	screen  *screen
	signals <-chan signal
	session string

	held        []sdk.Event // while a question stands on the screen
	interrupted bool
	leave       bool             // by more than Ctrl-C
	broken      error            // the view cannot show any more
	again       <-chan time.Time // tries the abort again
}

// run runs the turn and returns when it has ended, or at the second interrupt with errHard.
func (l *turnLoop) run(ctx context.Context, sub *host.Subscription, turn func(context.Context) (*sdk.MessageWithParts, error)) *turnOutcome {
	begun := time.Now()
	ended := make(chan *turnOutcome, 1)
	go func() { // ends with the turn
		m, err := turn(ctx)
		ended <- &turnOutcome{message: m, err: err, took: time.Since(begun)}
	}()
	ticks := time.NewTicker(tickEvery)
	defer ticks.Stop()
	if !l.screen.live {
		ticks.Stop()
	}
	events := sub.Events()
	for {
		select {
		case e, open := <-events:
			if !open {
				events = nil
				continue
			}
			l.take(e)
		case p := <-l.answers():
			l.asker.input(p)
			l.release()
		case now := <-ticks.C:
			l.tick(now)
		case s := <-l.signals:
			if l.interrupted {
				return &turnOutcome{err: errHard}
			}
			l.interrupted, l.leave = true, s != os.Interrupt
			l.screen.line("interrupting the turn (once more: leave at once)")
			l.abort()
		case <-l.again:
			l.abort()
		case o := <-ended:
			l.drain(events)
			return l.finish(o)
		}
		l.checkView()
	}
}

// answers is where what the user types comes from.
func (l *turnLoop) answers() <-chan piece {
	if l.asker == nil {
		return nil
	}
	return l.asker.keys.pieces
}

// take shows an event, later when a question stands on the screen.
func (l *turnLoop) take(e sdk.Event) {
	if l.asker != nil {
		l.asker.event(&e)
		if l.asker.asking() {
			l.held = append(l.held, e)
			return
		}
		l.release()
	}
	l.view.event(&e)
}

// release shows what was held back, once no question stands on the screen.
func (l *turnLoop) release() {
	for len(l.held) > 0 && !l.asker.asking() {
		e := l.held[0]
		l.held = l.held[1:]
		l.view.event(&e)
	}
}

func (l *turnLoop) tick(now time.Time) {
	if l.asker == nil || !l.asker.asking() {
		l.view.tick(now)
	}
}

// abort ends the turn. One that has not begun yet is tried again.
func (l *turnLoop) abort() {
	l.again = nil
	if !l.host.Abort(l.session) {
		l.again = time.After(abortEvery)
	}
}

// checkView ends a turn whose output nobody reads any more.
func (l *turnLoop) checkView() {
	if l.broken != nil {
		return
	}
	if l.broken = l.view.failed(); l.broken != nil {
		l.abort()
	}
}

// drain shows what was published before the turn ended.
func (l *turnLoop) drain(events <-chan sdk.Event) {
	if l.asker != nil {
		l.asker.withdraw()
		l.release()
	}
	for {
		select {
		case e, open := <-events:
			if !open {
				return
			}
			l.view.event(&e)
		default:
			return
		}
	}
}

func (l *turnLoop) finish(o *turnOutcome) *turnOutcome {
	var te *host.TurnError
	o.leave = l.leave
	if l.interrupted && errors.As(o.err, &te) && te.Named.Name == sdk.ErrorAborted {
		o.err = &failure{exitInterrupted, errors.New("interrupted"), "tenon run -s " + l.session + " goes on where this stopped"}
	}
	if l.broken != nil {
		o.err = outputError(l.broken)
		return o
	}
	if err := l.view.finish(o); err != nil && o.err == nil {
		o.err = outputError(err)
	}
	return o
}
