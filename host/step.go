package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/compact"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/sessions"
	"github.com/tenonhq/tenon/host/tasks"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/host/undo"
	"github.com/tenonhq/tenon/sdk"
)

// wrapUp is the instruction to the model in the last step its agent may take.
const wrapUp = "This is the last step of this turn: tools can no longer be called. " +
	"Answer now with what was done, what is left to do and what you would do next."

// remindStructured is the instruction to a model that must give structured output now.
const remindStructured = "Give the answer through the tool " + tools.Structured + ". Call it now."

// defaultCorrections is the default number of reminders for a model that answers in plain text instead of structured output.
const defaultCorrections = 2

// step is what a tool call needs from the turn. Calls of a command's template and requests of plugins get their own step (apart).
type step struct {
	prompt

	host   *Host
	gen    *generation.Set
	runner *runner
	conv   *live.Conversation
	undo   *undo.Session // notes the files that calls change

	msg    *sdk.AssistantMessage // nil between steps
	tools  *tools.Set
	ledger *hooks.Ledger
	halted *halting
}

// halting is the first reason to end the turn after this step: a refusal that halts, or the failure of a hook that must not fail. Safe
// for use from many goroutines.
type halting struct{ first atomic.Pointer[error] }

func (h *halting) set(err error) { h.first.CompareAndSwap(nil, &err) }

func (h *halting) reason() error {
	if err := h.first.Load(); err != nil {
		return *err
	}
	return nil
}

// ask asks the model for the next step and stores its answer while it streams. The answer need not be durable here: a tool call that may
// change something waits until its start record is, and with it everything before.
func (t *turn) ask(ctx context.Context) (state, error) {
	if err := t.halted.reason(); err != nil {
		return stateDone, err // a plugin's request halted the turn; after a tool call of the model, runTools ends it
	}
	t.openStep()
	a, err := t.stepOf(t.msg).Ask(ctx, t.request)
	t.refusal = err
	switch {
	case model.Classify(err) == model.ClassOverflow && !compact.Automatic(t.gen.Config.Compaction):
		return stateDone, fmt.Errorf("%w; the conversation is too long for %s: compact the session, or set compaction.auto to true in tenon.json", err, t.Model.Ref())
	case model.Classify(err) == model.ClassOverflow:
		return stateCompact, nil
	case err != nil:
		return stateDone, err
	}
	for _, c := range a.Calls {
		t.calls = append(t.calls, &call{part: c.Part, raw: c.Raw, cut: a.Reason == sdk.FinishLength})
	}
	t.stepOf(t.msg).Finish(a)
	switch {
	case len(t.calls) > 0:
		return stateTools, nil
	case a.Reason == sdk.FinishContentFilter:
		return stateDone, t.msg.Error
	}
	t.closeStep(live.InterruptedByAbort)
	return stateDecide, nil
}

// openStep begins a step with an assistant message, which will hold the answer and the results of its tool calls.
func (t *turn) openStep() {
	t.steps++
	t.calls = nil
	t.ledger = &hooks.Ledger{}
	t.msg = t.stepOf(nil).Message(t.user.ID)
	t.msg.Variant = t.user.Model.Variant
	t.conv.Add(t.msg, sdk.Parts{&sdk.StepStartPart{PartHead: t.conv.NewPart(t.msg)}})
	t.show(t.user)
}

// request builds the step's request for one attempt, and runs the hooks over it. After the first request, it
// starts the request for a title.
func (t *turn) request(ctx context.Context) (*sdk.ModelRequest, error) {
	messages := live.Active(t.conv.Snapshot())
	var err error
	if t.tools, err = tools.New(ctx, t.toolScope(), messages); err != nil {
		return nil, err
	}
	req := t.Setup.Request(t.System(t.user.System), t.user.Model.Variant)
	req.Tools, req.ToolChoice = t.tools.Definitions, t.toolChoice()
	if err := t.Transform(ctx, req, t.user, t.steps, messages, t.ledger, &t.converted); err != nil {
		return nil, err
	}
	if t.atLimit() {
		text := wrapUp
		if t.wantsStructured() {
			text = remindStructured
			req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(d sdk.ToolDefinition) bool { return d.ID != tools.Structured })
		}
		req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: text}}})
	}
	if !t.titled {
		t.titled = true
		t.startTitle()
	}
	return req, nil
}

// toolScope returns the input of tools.New for the step.
func (s *step) toolScope() *tools.Scope {
	scope := &tools.Scope{Setup: s.Setup, Listed: s.user.Tools, Schemas: &s.host.schemas, Ledger: s.ledger}
	if s.wantsStructured() {
		msg := s.msg
		scope.Schema = s.user.Format.Schema
		scope.Accept = func(answer json.RawMessage) { s.conv.Locked(func() { msg.Structured = answer }) }
	}
	return scope
}

func (t *turn) toolChoice() string {
	switch {
	case t.wantsStructured():
		return sdk.ToolChoiceRequired
	case t.atLimit():
		return sdk.ToolChoiceNone
	}
	return sdk.ToolChoiceAuto
}

// startTitle requests a title for a new session, in parallel with the first request of its first turn.
func (t *turn) startTitle() {
	if t.Purpose != sdk.PurposeTurn || !strings.HasPrefix(t.conv.SessionCopy().Title, sessions.DefaultTitle) {
		return
	}
	if prompts := slices.DeleteFunc(t.conv.Snapshot(), func(m sdk.MessageWithParts) bool { return !live.ByUser(&m) }); len(prompts) != 1 {
		return
	}
	agent, err := t.gen.Agent(sdk.AgentTitle)
	if err != nil || !t.host.plugins.Retain(t.gen) {
		return // no plugin contributes the agent: sessions keep their default titles
	}
	s, user := t.As(agent, t.Model, sdk.PurposeTitle), t.user
	h, conv := t.host, t.conv // not t: the next prompt may replace its content meanwhile
	// Ends with the request, at the latest after TitleTimeout; the runner waits for it before it releases the session.
	t.runner.inBackground(func() {
		defer h.plugins.Release(s.Generation)
		ctx, cancel := context.WithTimeout(h.backgroundCtx, tasks.TitleTimeout)
		defer cancel()
		err := tasks.Title(ctx, s, conv, user)
		switch {
		case errors.Is(err, model.ErrReceiver):
			h.log.Warn("no title was written", "err", err)
		case err != nil:
			h.log.Debug("no title was written", "session", s.SessionID, "err", err)
		}
	})
}

// wantsStructured reports whether the prompt requests an answer that meets a schema.
func (s *step) wantsStructured() bool {
	return s.user != nil && s.user.Format != nil && s.user.Format.Type == sdk.FormatJSONSchema
}

// withoutStructured is called after plain text instead of structured output. It reminds the model of the tool, or returns an error after the
// last reminder and after the last step.
func (t *turn) withoutStructured() (state, error) {
	if t.atLimit() || t.corrections >= *cmp.Or(t.user.Format.RetryCount, new(defaultCorrections)) {
		message := fmt.Sprintf("no structured output from the model after %d reminders", t.corrections)
		if t.atLimit() {
			message = fmt.Sprintf("no structured output from the model within the limit of %d steps of agent %q", t.Agent.Steps, t.Agent.Name)
		}
		return stateDone, &sdk.NamedError{Name: sdk.ErrorStructuredOutput, Data: sdk.ErrorData{Message: message, Retries: t.corrections}}
	}
	t.corrections++
	t.addSynthetic(remindStructured, nil)
	return stateAsk, nil
}
