package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/undo"
	"github.com/tenonhq/tenon/sdk"
)

// maxContinued bounds how often hooks at turn.stop can make one turn go on.
const maxContinued = 8

// TurnError is why a turn ended without an answer.
type TurnError struct {
	Named *sdk.NamedError // as it stands in the message
	Err   error           // the cause
}

// Error returns the cause's text.
func (e *TurnError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TurnError) Unwrap() error { return e.Err }

// turn answers prompts of one session. It belongs to the runner's goroutine.
type turn struct {
	h *Host
	g *generation.Set
	r *runner
	c *live.Conversation
	k *undo.Session // of the files that calls change

	// What is being answered.
	answering []*queued
	user      *sdk.UserMessage
	agent     sdk.Agent
	model     *model.Model // never changed
	rules     *permission.Rules
	agentPath string
	delegate  string // the subagent a command's prompt goes to
	rendered  bool   // a plugin wrote the prompt
	manual    bool   // the turn is a compaction the user asked for
	// summaryModel is the model that the user asked for in a compaction of the turn under way; empty when there is none to do.
	summaryModel string
	purpose      sdk.Purpose

	// The step under way.
	step    int // from 1
	tries   int // failed requests of this step
	delay   time.Duration
	msg     *sdk.AssistantMessage // nil between steps
	last    *sdk.AssistantMessage // the latest step's message, its finished form
	tools   *toolset
	req     *sdk.ModelRequest
	calls   []*call
	ledger  *hooks.Ledger
	halted  *halting
	failure *TurnError

	// Counters of the turn.
	continued   int
	corrections int // reminders to give structured output
	compacted   int // compactions since the model last got anywhere
	doom        doomWatch

	converted convert.Cache // of the messages, for the requests of the turn
}

func newTurn(r *runner, c *live.Conversation, k *undo.Session) *turn {
	return &turn{h: r.host, r: r, c: c, k: k, halted: &halting{}}
}

// halting is why a turn must end, once something says so: a refusal, or a hook that must not fail. Copies of the turn share it.
type halting struct {
	mu  sync.Mutex
	err error // the first reason
}

func (h *halting) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
	}
}

func (h *halting) reason() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// run drives the state machine until no prompt waits.
func (t *turn) run(ctx context.Context) {
	turnCtx, cancel := t.begin(ctx)
	st, ev := stateIdle, evPrompt
	for {
		var err error
		if st, err = next(st, ev); err != nil {
			t.failure = t.turnError(err)
			st = stateFailed
		}
		if st == stateIdle {
			cancel(nil)
			return
		}
		if st.working() {
			ev = t.work(turnCtx, st)
			continue
		}
		cancel(nil)
		t.finish(ctx, st)
		ev = evRest
		if t.r.waiting() && !t.h.closing() && t.c.Journal.Failed() == nil {
			ev = evPrompt
			turnCtx, cancel = t.begin(ctx)
		}
	}
}

// begin readies the turn for a new prompt; the context it returns ends when the turn is aborted.
func (t *turn) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	*t = *newTurn(t.r, t.c, t.k)
	t.g = t.r.generation() // finish releases it
	turnCtx, cancel := context.WithCancelCause(ctx)
	t.r.mu.Lock()
	t.r.cancel, t.r.turnCtx = cancel, turnCtx
	if t.r.doomed {
		t.r.doomed = false
		cancel(errAborted)
	}
	t.r.mu.Unlock()
	return turnCtx, cancel
}

// work does what the state asks for and returns what came of it.
func (t *turn) work(ctx context.Context, st state) event {
	if ctx.Err() != nil {
		if t.user == nil {
			t.drop()
		}
		return t.stopped(ctx)
	}
	var ev event
	var err error
	switch st {
	case statePrepare:
		ev, err = t.prepare(ctx)
	case stateRequest:
		ev, err = t.request(ctx)
	case stateStream:
		ev, err = t.stream(ctx)
	case stateWait:
		ev, err = t.wait(ctx)
	case stateTools:
		ev, err = t.runTools(ctx)
	case stateDecide:
		ev, err = t.decide(ctx)
	case stateCompact:
		ev, err = t.compact(ctx)
	case stateStop:
		ev, err = t.mayStop(ctx)
	}
	if ctx.Err() != nil {
		return t.stopped(ctx)
	}
	if err == nil {
		err = t.c.Journal.Failed()
	}
	if err != nil {
		t.failure = t.turnError(err)
		return evFail
	}
	return ev
}

// drop answers the prompt of a turn that was aborted before it began. When the host closes, a stored
// prompt stays stored.
func (t *turn) drop() {
	if len(t.answering) > 0 {
		return
	}
	q := t.r.take()
	if q == nil {
		return
	}
	t.answering = append(t.answering, q)
	if q.stored && !t.h.closing() {
		t.c.Journal.Put([]store.Op{store.TakePrompt{PromptID: q.id}})
	}
}

// stopped says how a turn whose context ended goes on: aborted by the user, or failed.
func (t *turn) stopped(ctx context.Context) event {
	cause := context.Cause(ctx)
	if errors.Is(cause, errAborted) {
		return evAbort
	}
	t.failure = t.turnError(cause)
	return evFail
}

// decide looks at the finished step.
func (t *turn) decide(context.Context) (event, error) {
	facts := stepFacts{
		toolCalls: len(t.calls) > 0, lastStep: t.atLimit(), overflow: t.overflows(t.last.Tokens), queued: t.r.waiting(),
	}
	if !facts.overflow {
		t.compacted = 0
	}
	if len(t.last.Structured) > 0 {
		return evFinished, nil
	}
	ev := decide(facts)
	if ev == evFinished && t.wantsStructured() && !facts.lastStep {
		return t.remindStructured()
	}
	return ev, nil
}

// atLimit reports whether the step under way is the last the agent may take.
func (t *turn) atLimit() bool { return t.agent.Steps > 0 && t.step >= t.agent.Steps }

// mayStop asks the gates at turn.stop.
func (t *turn) mayStop(ctx context.Context) (event, error) {
	if t.r.waiting() {
		return evPrompt, nil
	}
	if t.manual || t.last == nil || !t.g.Engine.Has(sdk.PointTurnStop) || t.continued >= maxContinued {
		return evStop, nil
	}
	in := &sdk.TurnStopInput{
		SessionID: t.r.session, Message: t.last, Text: live.AnswerText(t.c.Parts(t.last.ID)), Continued: t.continued,
	}
	ledger := &hooks.Ledger{}
	d, err := t.g.Engine.Gate(ctx, sdk.PointTurnStop, hooks.Scope{Ledger: ledger}, in)
	t.storeLedger(t.last.ID, t.purpose, ledger)
	if err != nil {
		return evFail, err
	}
	if d.Verdict != sdk.VerdictContinue {
		return evStop, nil
	}
	t.continued++
	t.addSynthetic(d.Message, sdk.Object{"plugin": d.Plugin, "reason": d.Reason})
	return evGoOn, nil
}

// addSynthetic adds a user message that the host wrote.
func (t *turn) addSynthetic(text string, metadata sdk.Object) {
	u := *t.user
	u.MessageHead = sdk.MessageHead{ID: t.c.IDs.New(sdk.PrefixMessage), SessionID: t.r.session}
	u.Time = sdk.MessageTime{Created: live.Now()}
	u.Summary = nil
	t.user = &u
	t.c.Add(&u, &sdk.TextPart{PartHead: t.c.NewPart(&u), Text: text, Synthetic: true, Metadata: metadata})
}

// finish winds the turn up: nothing stays open, what was changed is durable, who waits gets the answer.
func (t *turn) finish(ctx context.Context, st state) {
	t.r.mu.Lock()
	t.r.cancel, t.r.turnCtx, t.r.view = nil, nil, nil
	t.r.mu.Unlock()
	defer t.h.plugins.Release(t.g)
	switch st {
	case stateAborted:
		t.failure = t.turnError(errAborted)
	case stateDone:
		if err := t.halted.reason(); err != nil {
			t.failure = &TurnError{Named: &sdk.NamedError{Name: sdk.ErrorUnknown, Data: sdk.ErrorData{Message: t.g.Hide(err.Error())}}, Err: err}
		}
	}
	t.closeStep(st)
	t.prune()
	t.k.Settle() // what is changed from now on is not the session's
	t.c.Journal.Put([]store.Op{store.SetTurn{Open: false}})
	t.c.Journal.Put(nil, t.ending()...)
	err := t.c.Journal.Flush(ctx)
	if err != nil { // nothing comes through the journal any more, and clients must not wait for ever
		t.failure = t.turnError(err)
		for _, e := range t.ending() {
			t.h.publish(e)
		}
	}
	t.answer(err)
}

// ending returns the events that end a turn.
func (t *turn) ending() []sdk.Event {
	id := t.r.session
	var out []sdk.Event
	if t.failure != nil {
		out = append(out, sdk.Event{Type: sdk.EventSessionError, Properties: &sdk.SessionErrorInfo{SessionID: id, Error: t.failure.Named}})
	}
	idle := sdk.SessionStatus{Type: sdk.StatusIdle}
	return append(out,
		sdk.Event{Type: sdk.EventSessionStatus, Properties: &sdk.SessionStatusInfo{SessionID: id, Status: idle}},
		sdk.Event{Type: sdk.EventSessionIdle, Properties: &sdk.SessionRef{SessionID: id}})
}

// closeStep ends the message and the parts that a failed or aborted step left open.
func (t *turn) closeStep(st state) {
	if t.msg == nil {
		return
	}
	why := live.InterruptedByAbort
	if st == stateFailed {
		why = live.InterruptedByFailure
	}
	for _, p := range t.c.Parts(t.msg.ID) {
		open := false
		t.c.Locked(func() { open = live.ClosePart(p, why) })
		if open {
			t.c.PutPart(p)
		}
	}
	t.c.Locked(func() {
		if t.failure != nil && t.msg.Error == nil {
			t.msg.Error = t.failure.Named
		}
		t.msg.Time.Completed = live.Now()
	})
	t.c.PutMessage(t.msg)
	t.last, t.msg = t.msg, nil
	t.storeLedger(t.last.ID, t.purpose, t.ledger)
}

// answer hands the outcome to those who wait for it.
func (t *turn) answer(err error) {
	var result promptResult
	if t.last != nil {
		m := &sdk.MessageWithParts{Info: live.CopyMessage(t.last), Parts: t.c.Parts(t.last.ID)}
		result.message = m
	} else if t.user != nil {
		result.message = &sdk.MessageWithParts{Info: live.CopyMessage(t.user), Parts: t.c.Parts(t.user.ID)}
	}
	if t.failure != nil {
		result.err = t.failure
	}
	if err != nil {
		result.err = err
	}
	for _, q := range t.answering {
		q.result <- result
	}
	t.answering = nil
}

func (t *turn) status(s sdk.SessionStatus) {
	t.c.Journal.Put(nil, sdk.Event{Type: sdk.EventSessionStatus, Properties: &sdk.SessionStatusInfo{SessionID: t.r.session, Status: s}})
}

// storeLedger records what hooks did for the request that led to a message.
func (t *turn) storeLedger(messageID string, purpose sdk.Purpose, l *hooks.Ledger) {
	if l != nil {
		t.storeEntries(messageID, purpose, l.Entries())
	}
}

// turnError wraps the cause of a failed turn.
func (t *turn) turnError(err error) *TurnError {
	var te *TurnError
	if errors.As(err, &te) {
		return te
	}
	if errors.Is(err, errAborted) {
		return &TurnError{Named: &sdk.NamedError{Name: sdk.ErrorAborted, Data: sdk.ErrorData{Message: "aborted by the user"}}, Err: err}
	}
	return &TurnError{Named: t.g.WireError(err), Err: err}
}
