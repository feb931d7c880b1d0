package host

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// wrapUp is what the model is told in the last step its agent may take.
const wrapUp = "This is the last step of this turn: tools can no longer be called. " +
	"Answer now with what was done, what is left to do and what you would do next."

// ask asks the model for the next step and stores the answer as it comes. A tool call waits for its own start to be durable, and with that
// for everything stored before it.
func (t *turn) ask(ctx context.Context) (state, error) {
	if err := t.halted.reason(); err != nil {
		return stateDone, err // by what a plugin asked for: a call of the model's ends the turn before this
	}
	t.openStep()
	a, err := t.stepOf(t.msg).ask(ctx, t.request)
	switch {
	case model.Classify(err) == model.ClassOverflow && !automatic(t.g.Config.Compaction):
		return stateDone, fmt.Errorf("%w; the conversation is too long for %s: compact the session, or set compaction.auto to true in tenon.json", err, t.Model.Ref())
	case model.Classify(err) == model.ClassOverflow:
		return stateCompact, nil
	case err != nil:
		return stateDone, err
	}
	t.calls = a.calls
	t.stepOf(t.msg).finish(a)
	switch {
	case len(t.calls) > 0:
		return stateTools, nil
	case a.reason == sdk.FinishContentFilter:
		return stateDone, t.msg.Error
	}
	t.closeStep(live.InterruptedByAbort)
	return stateDecide, nil
}

// request builds one try of the step's request, through the hooks.
func (t *turn) request(ctx context.Context) (*sdk.ModelRequest, error) {
	messages := live.Active(t.c.Snapshot())
	var err error
	if t.tools, err = t.newToolset(ctx, messages); err != nil {
		return nil, err
	}
	req := t.setup.request(t.system(t.user.System), t.user.Model.Variant)
	req.Tools, req.ToolChoice = t.tools.definitions, t.toolChoice()
	if err := t.transform(ctx, req, t.user, t.step, messages, t.ledger, &t.converted); err != nil {
		return nil, err
	}
	if t.atLimit() {
		req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: wrapUp}}})
	}
	if !t.titled {
		t.titled = true
		t.startTitle()
	}
	return req, nil
}

// openStep begins a step: its message, durable before any tool runs, holds everything that comes of it.
func (t *turn) openStep() {
	t.step++
	t.calls = nil
	t.ledger = &hooks.Ledger{}
	t.msg = t.stepOf(nil).message(t.user.ID)
	t.msg.Variant = t.user.Model.Variant
	t.c.Add(t.msg, &sdk.StepStartPart{PartHead: t.c.NewPart(t.msg)})
	t.show(t.user)
}

func (t *turn) toolChoice() string {
	switch {
	case t.atLimit():
		return sdk.ToolChoiceNone
	case t.wantsStructured():
		return sdk.ToolChoiceRequired
	}
	return sdk.ToolChoiceAuto
}
