package host

import (
	"context"
	"sync/atomic"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/compact"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/host/undo"
	"github.com/tenonhq/tenon/sdk"
)

// maxContinued bounds how often hooks at turn.stop can make one turn go on.
const maxContinued = 8

// turn answers prompts of one session. It belongs to the runner's goroutine.
type turn struct {
	*ask.Setup // of the latest prompt; nil before the first

	h *Host
	g *generation.Set
	r *runner
	c *live.Conversation
	k *undo.Session // of the files that calls change

	// The prompts being answered.
	answering []*queued
	user      *sdk.UserMessage
	delegate  string // the subagent a command's prompt goes to
	rendered  bool   // a plugin wrote the prompt
	titled    bool   // the request for a title was made, if there is one
	manual    bool   // the turn is a compaction the user asked for
	// summaryModel is the model that the user asked for in a compaction of the turn under way; empty when there is none to do.
	summaryModel string

	// The step under way.
	step    int                   // from 1
	msg     *sdk.AssistantMessage // nil between steps
	last    *sdk.AssistantMessage // the latest step's message, its finished form
	tools   *tools.Set
	calls   []*call
	ledger  *hooks.Ledger
	halted  *halting
	failure *TurnError

	// Counters of the turn.
	continued   int
	corrections int // reminders to give structured output
	compacted   int // compactions since the model last got anywhere
	doom        tools.Doom

	converted convert.Cache // of the messages, for the requests of the turn
}

func newTurn(r *runner, c *live.Conversation, k *undo.Session) *turn {
	return &turn{h: r.host, r: r, c: c, k: k, halted: &halting{}}
}

// state is what a turn does next.
type state uint8

const (
	statePrepare state = iota // a prompt becomes a user message ─► chat.message
	stateAsk                  // the model is asked ─► tool.definition, chat.*.transform, chat.params, chat.headers, text.complete
	stateTools                // tool calls run ─► tool.execute.before, permission.ask, tool.execute.after
	stateDecide               // the step is over: what next?
	stateCompact              // the conversation is summarised ─► session.compacting
	stateStop                 // hooks are asked whether the turn may end ─► turn.stop
	stateDone                 // the turn ended
)

// loop answers the prompts of one turn: it asks the model and runs the tools that the model asks for, until the model asks for nothing.
func (t *turn) loop(ctx context.Context) (err error) {
	for at := statePrepare; at != stateDone; {
		if ctx.Err() != nil {
			break
		}
		from := at
		switch from {
		case statePrepare:
			at, err = t.prepare(ctx)
		case stateAsk:
			at, err = t.ask(ctx)
		case stateTools:
			at, err = t.runTools(ctx)
		case stateDecide:
			at, err = t.decide()
		case stateCompact:
			at, err = t.compact(ctx)
		case stateStop:
			at, err = t.mayStop(ctx)
		}
		if err == nil {
			err = t.c.Journal.Failed()
		}
		if err != nil {
			break
		}
		if t.h.trace != nil {
			t.h.trace(from, at)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// run answers prompts, a turn after another, until none waits.
func (t *turn) run(ctx context.Context) {
	for {
		turnCtx, cancel := t.begin(ctx)
		err := t.loop(turnCtx)
		if turnCtx.Err() != nil && t.user == nil {
			t.drop(ctx)
		}
		cancel(nil)
		t.finish(ctx, err)
		if !t.r.waiting() || t.h.closing() || t.c.Journal.Failed() != nil {
			return
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

// drop answers the prompt of a turn that was aborted before it began. When the host closes, a stored
// prompt stays stored.
func (t *turn) drop(ctx context.Context) {
	if len(t.answering) > 0 || !t.r.waiting() {
		return
	}
	q := t.r.take()
	t.answering = append(t.answering, q)
	if !t.h.closing() {
		_ = t.settle(ctx, q) // finish tells of its error
	}
}

// stepFacts is what the decision after a step depends on.
type stepFacts struct {
	toolCalls bool // the model asked for tools, so it waits for their results
	lastStep  bool // the agent's limit of steps is reached
	overflow  bool // the step took more tokens than the next one may
	queued    bool // a prompt arrived meanwhile
}

// follows returns what comes after a step.
func follows(f stepFacts) state {
	switch {
	case f.overflow && (f.toolCalls || f.queued):
		return stateCompact // the next request would not fit
	case f.queued:
		return statePrepare
	case f.toolCalls && !f.lastStep:
		return stateAsk
	}
	return stateStop
}

// decide looks at the finished step.
func (t *turn) decide() (state, error) {
	facts := stepFacts{
		toolCalls: len(t.calls) > 0, lastStep: t.atLimit(), overflow: compact.Overflows(&t.Model.Model, t.g.Config.Compaction, t.last.Tokens), queued: t.r.waiting(),
	}
	if !facts.overflow {
		t.compacted = 0
	}
	if len(t.last.Structured) > 0 {
		return stateStop, nil
	}
	next := follows(facts)
	if next == stateStop && t.wantsStructured() && !facts.lastStep {
		return t.remindStructured()
	}
	return next, nil
}

// atLimit reports whether the step under way is the last the agent may take.
func (t *turn) atLimit() bool { return t.Agent.Steps > 0 && t.step >= t.Agent.Steps }

// mayStop asks the gates at turn.stop.
func (t *turn) mayStop(ctx context.Context) (state, error) {
	if t.r.waiting() {
		return statePrepare, nil
	}
	if t.manual || t.last == nil || !t.g.Engine.Has(sdk.PointTurnStop) || t.continued >= maxContinued {
		return stateDone, nil
	}
	in := &sdk.TurnStopInput{
		SessionID: t.r.session, Message: t.last, Text: live.AnswerText(t.c.Parts(t.last.ID)), Continued: t.continued,
	}
	ledger := &hooks.Ledger{}
	d, err := t.g.Engine.Gate(ctx, sdk.PointTurnStop, hooks.Scope{Ledger: ledger}, in)
	ask.StoreLedger(t.c, t.g, t.last.ID, t.Purpose, ledger)
	if err != nil {
		return stateDone, err
	}
	if d.Verdict != sdk.VerdictContinue {
		return stateDone, nil
	}
	t.continued++
	t.addSynthetic(d.Message, sdk.Object{"plugin": d.Plugin, "reason": d.Reason})
	return stateAsk, nil
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

// halting is why a turn must end, once something says so: a refusal, or a hook that must not fail. Copies of the turn share it. Safe for use
// from many goroutines.
type halting struct{ first atomic.Pointer[error] }

func (h *halting) set(err error) { h.first.CompareAndSwap(nil, &err) }

func (h *halting) reason() error {
	if err := h.first.Load(); err != nil {
		return *err
	}
	return nil
}
