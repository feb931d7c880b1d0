package host

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/compact"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// compact replaces the conversation so far by a summary. The messages stay stored; the summary names the messages that it covers. Several
// summaries in a row without enough room end the turn.
func (t *turn) compact(ctx context.Context) (state, error) {
	if t.msg != nil { // the request that did not fit
		t.conv.Locked(func() {
			t.msg.Error = &sdk.NamedError{Name: sdk.ErrorContextOverflow, Data: sdk.ErrorData{Message: "the conversation is too long for the model; it is summarized"}}
		})
		t.closeStep(live.InterruptedByAbort)
	}
	if t.compacted++; t.compacted > compact.MaxTries {
		return stateDone, compact.TooLong(t.refusal, "the conversation still does not fit %s after %d summaries", t.Model.Ref(), compact.MaxTries)
	}
	plan := compact.NewPlan(live.Active(t.conv.Snapshot()), t.gen.Config.Compaction, &t.Model.Model, t.manual, t.compacted)
	switch {
	case len(plan.Covered) > 0:
	case !t.manual:
		return stateDone, compact.TooLong(t.refusal, "the prompt alone is too long for %s", t.Model.Ref())
	case t.compacted > 1: // requested a second time while the first summary was made
		return stateStop, nil
	default:
		return stateDone, fmt.Errorf("%w: no message to summarize", live.ErrNothing)
	}
	answered, last := t.answered(), t.last
	if err := t.summarize(ctx, plan); err != nil {
		return stateDone, err
	}
	t.NoReasoning.Store(0) // it counts messages that the summary replaced
	t.publish(sdk.Event{Type: sdk.EventSessionCompacted, Properties: &sdk.SessionRef{SessionID: t.runner.session}})
	if answered {
		t.last = last // the user waits for this answer, not for the summary
		return stateStop, nil
	}
	return t.afterCompaction(ctx, plan)
}

// summarize asks the compaction agent for the summary and stores question and answer.
func (t *turn) summarize(ctx context.Context, plan compact.Plan) error {
	agent, err := t.gen.Agent(sdk.AgentCompaction)
	if err != nil {
		return err
	}
	m := t.Model
	if t.summaryModel != "" || agent.Model != nil {
		m, err = ask.OpenModel(ctx, t.gen, &agent, t.summaryModel, false, "")
	}
	t.summaryModel = ""
	if err != nil {
		return err
	}
	s := &compact.Summary{Step: &ask.Step{Setup: t.As(agent, m, sdk.PurposeCompaction), Conversation: t.conv, User: t.user, Ledger: &hooks.Ledger{}}, Plan: plan}
	err = s.Run(ctx)
	if s.Msg == nil {
		return err
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		t.failure = t.turnError(err)
	}
	s.Close(live.InterruptedByFailure, t.failure.named())
	t.last = s.Msg
	return err
}

// afterCompaction returns the state after a compaction: the turn continues with its prompt, or with a reminder of its work. It stops if the
// user requested only the summary, or if a hook decides so.
func (t *turn) afterCompaction(ctx context.Context, plan compact.Plan) (state, error) {
	if t.manual {
		return stateStop, nil
	}
	v := &sdk.AutocontinueValue{Enabled: true}
	in := &sdk.AutocontinueInput{
		SessionID: t.runner.session, Agent: t.Agent.Name, Model: model.ForHooks(&t.Model.Model), Provider: model.ProviderRef(&t.Model.Provider),
		Message: t.user, Overflow: plan.Overflow,
	}
	ledger := &hooks.Ledger{}
	err := t.gen.Fire(ctx, sdk.PointAutocontinue, ledger, "", in, v)
	ask.StoreLedger(t.conv, t.gen, t.last.ID, sdk.PurposeCompaction, ledger)
	if err != nil {
		return stateDone, err
	}
	if !v.Enabled {
		return stateStop, nil
	}
	if plan.InTurn {
		text, err := compact.Reminder(ctx, t.conv, t.host.opts.Store, t.runner.session)
		if err != nil {
			return stateDone, err
		}
		t.addSynthetic(text, sdk.Object{"compaction_continue": true})
	}
	return stateAsk, nil
}
