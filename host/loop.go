package host

import (
	"context"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/compact"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/sdk"
)

// maxContinued bounds how often hooks at turn.stop can continue one turn.
const maxContinued = 8

// turn answers a prompt and the prompts that arrive meanwhile. It belongs to the runner's goroutine.
type turn struct {
	step // the step under way

	answering []*queued // the prompts
	calls     []*call
	last      *sdk.AssistantMessage // the message of the latest finished step or summary
	failure   *TurnError
	titled    bool          // startTitle was called
	refusal   error         // the server's refusal of the latest request
	compacted int           // compactions in a row that did not make enough room
	converted convert.Cache // converted messages, reused by the requests of the turn
}

// run runs the turn from its first prompt to the answers of all its prompts.
func (t *turn) run(ctx context.Context) {
	turnCtx, cancel := t.begin(ctx)
	err := t.loop(turnCtx)
	if turnCtx.Err() != nil && t.user == nil {
		t.takeCanceled(ctx)
	}
	cancel(nil)
	t.finish(ctx, err)
}

// begin returns the context of the turn, which Abort ends.
func (t *turn) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	turnCtx, cancel := context.WithCancelCause(ctx)
	t.runner.mu.Lock()
	t.runner.cancel, t.runner.turnCtx = cancel, turnCtx
	if t.runner.canceled {
		t.runner.canceled = false
		cancel(errAborted)
	}
	t.runner.mu.Unlock()
	return turnCtx, cancel
}

// takeCanceled takes the queued prompt of a turn that was aborted before prepare could take it; finish replies to its caller. If the
// host is closing, a prompt in the store stays there.
func (t *turn) takeCanceled(ctx context.Context) {
	if len(t.answering) > 0 || !t.runner.waiting() {
		return
	}
	q := t.runner.next()
	t.answering = append(t.answering, q)
	if !t.host.closed.Load() {
		_ = t.commitPrompt(ctx, q) // finish reports the error
	}
}

// state is the next action of a turn.
type state uint8

const (
	statePrepare state = iota // a prompt becomes a user message ─► chat.message
	stateAsk                  // the model is asked ─► tool.definition, chat.*.transform, chat.params, chat.headers, text.complete
	stateTools                // the tool calls run ─► tool.execute.before, permission.ask, tool.execute.after
	stateDecide               // the next state is chosen
	stateCompact              // the conversation is summarized ─► session.compacting
	stateStop                 // hooks may continue the turn ─► turn.stop
	stateDone                 // the turn ended
)

// loop is the loop of the host: it asks the model and runs the tool calls of its answer, until the model calls no more tools.
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
			err = t.conv.Journal.Failed()
		}
		if err != nil {
			break
		}
		if t.host.trace != nil {
			t.host.trace(from, at)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// decide returns the state after the finished step.
func (t *turn) decide() (state, error) {
	facts := stepFacts{
		toolCalls: len(t.calls) > 0, lastStep: t.atLimit(), overflow: t.overflows(compact.NextTokens(t.conv.Snapshot())), queued: t.runner.waiting(),
	}
	if !t.overflows(t.last.Tokens.Sum()) { // the request did fit, even if its results do not
		t.compacted = 0
	}
	if len(t.last.Structured) > 0 {
		return stateStop, nil
	}
	next := follows(facts)
	if next == stateStop && t.wantsStructured() {
		return t.withoutStructured()
	}
	return next, nil
}

// overflows reports whether a conversation of so many tokens has to be summarized.
func (t *turn) overflows(tokens int64) bool {
	return compact.Overflows(&t.Model.Model, t.gen.Config.Compaction, tokens)
}

// stepFacts are the facts about a step that decide what follows.
type stepFacts struct {
	toolCalls bool // the model waits for the results of tool calls
	lastStep  bool // the agent's limit of steps is reached
	overflow  bool // the next request would not fit the model's context
	queued    bool // a prompt arrived meanwhile
}

// follows returns the state after a step.
func follows(f stepFacts) state {
	switch {
	case f.overflow && (f.toolCalls || f.queued):
		return stateCompact
	case f.queued:
		return statePrepare
	case f.toolCalls && !f.lastStep:
		return stateAsk
	}
	return stateStop
}

// atLimit reports whether the step under way is the last the agent may take.
func (s *step) atLimit() bool { return s.Agent.Steps > 0 && s.steps >= s.Agent.Steps }

// mayStop asks the gates at turn.stop.
func (t *turn) mayStop(ctx context.Context) (state, error) {
	if t.runner.waiting() {
		return statePrepare, nil
	}
	if t.manual || t.last == nil || !t.gen.Engine.Has(sdk.PointTurnStop) || t.continued >= maxContinued {
		return stateDone, nil
	}
	in := &sdk.TurnStopInput{
		SessionID: t.runner.session, Message: t.last, Text: live.AnswerText(t.conv.Parts(t.last.ID)), Continued: t.continued,
	}
	ledger := &hooks.Ledger{}
	d, err := t.gen.Engine.Gate(ctx, sdk.PointTurnStop, hooks.Scope{Ledger: ledger}, in)
	ask.StoreLedger(t.conv, t.gen, t.last.ID, t.Purpose, ledger)
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
	u.MessageHead = sdk.MessageHead{ID: t.conv.IDs.New(sdk.PrefixMessage), SessionID: t.runner.session}
	u.Time = sdk.MessageTime{Created: live.Now()}
	u.Summary = nil
	t.user = &u
	t.conv.Add(&u, sdk.Parts{&sdk.TextPart{PartHead: t.conv.NewPart(&u), Text: text, Synthetic: true, Metadata: metadata}})
}
