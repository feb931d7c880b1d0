package host

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/ask"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/sdk"
)

// PointPluginCall marks tool calls in the ledger that the model did not make. No hook is called there.
const PointPluginCall sdk.Point = "tool.call"

// maxVisits bounds the concurrent requests of plugins on behalf of one session. It ends endless recursion of a plugin through its own calls,
// over a wire that does not carry contexts.
const maxVisits = 64

// turns gives plugins access to the running turns (generation.Turns).
type turns struct{ *Host }

// Visit implements generation.Turns.
func (h turns) Visit(ctx context.Context, session string, f func(context.Context, generation.Turn) error) error {
	r := h.runner(session)
	if r == nil {
		return fmt.Errorf("session %q: %w", session, generation.ErrNoTurn)
	}
	view, turnCtx, err := r.beginVisit()
	if err != nil {
		return err
	}
	defer r.endVisit(view)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(turnCtx, func() { cancel(context.Cause(turnCtx)) })()
	s := view.apart(view.user, view.msg, &hooks.Ledger{})
	err = f(ctx, &visit{s})
	ask.StoreLedger(s.conv, s.gen, s.currentMessage(), s.Purpose, s.ledger)
	return err
}

// beginVisit returns the view of the running turn, and the turn's context. The session and the generation are kept until endVisit.
func (r *runner) beginVisit() (view *step, turnCtx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch view = r.view; {
	case r.visits >= maxVisits:
		return nil, nil, fmt.Errorf("session %q: more than %d plugin requests in parallel", r.session, maxVisits)
	case view == nil || !r.host.plugins.Retain(view.gen):
		return nil, nil, fmt.Errorf("session %q: %w", r.session, generation.ErrNoTurn)
	}
	r.visits++
	r.background++
	return view, r.turnCtx, nil
}

func (r *runner) endVisit(view *step) {
	r.host.plugins.Release(view.gen)
	r.mu.Lock()
	r.visits--
	r.mu.Unlock()
	r.endBackground()
}

// Denies reports whether the rules of the session's turn deny something; false when no turn runs.
func (h turns) Denies(session, key, pattern string) bool {
	v := h.viewOf(session)
	return v != nil && v.Setup != nil && v.Rules.Decide(key, pattern).Action == sdk.ActionDeny
}

// Messages returns the messages of a session since its last compaction. Errors: ErrNotFound.
func (h turns) Messages(ctx context.Context, session string) ([]sdk.MessageWithParts, error) {
	if v := h.viewOf(session); v != nil {
		return v.conv.Snapshot(), nil
	}
	messages, damaged, err := live.Load(ctx, h.opts.Store, session)
	h.sessions.ReportDamaged(damaged)
	return messages, err
}

// show updates the runner's view of the turn. Plugins use it at any time from any goroutine, so it does not change; the turn itself belongs to
// its runner's goroutine. user is the message that the turn answers.
func (t *turn) show(user *sdk.UserMessage) {
	t.runner.mu.Lock()
	defer t.runner.mu.Unlock()
	t.runner.view = t.apart(user, t.msg, nil)
}

// apart returns a step for calls and requests that are not the model's, with the setup of s. The caller owns it.
func (s *step) apart(user *sdk.UserMessage, msg *sdk.AssistantMessage, ledger *hooks.Ledger) *step {
	return &step{
		prompt: prompt{Setup: s.Setup, user: user}, host: s.host, gen: s.gen, runner: s.runner, conv: s.conv, undo: s.undo,
		msg: msg, ledger: ledger, halted: s.halted,
	}
}

// viewOf returns the view of a session's running turn; nil if none runs.
func (h *Host) viewOf(session string) *step {
	r := h.runner(session)
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view
}

// currentMessage returns the ID of the message whose ledger gets new entries: the step's message, or else the prompt.
func (s *step) currentMessage() string {
	if s.msg != nil && s.msg.ParentID == s.user.ID {
		return s.msg.ID
	}
	return s.user.ID
}

// visit is one request of a plugin on behalf of a session (generation.Turn).
type visit struct {
	step *step // its own
}

// Permit judges a permission request of a plugin.
func (v *visit) Permit(ctx context.Context, by *generation.Plugin, req sdk.PermissionRequest) error {
	req.Agent, req.Metadata = v.step.Agent.Name, permission.AskedBy(req.Metadata, "", by.Manifest.Name)
	if err := permission.Foreign(&req, by.Origin()); err != nil {
		return err
	}
	return v.step.haltIfFinal(v.step.permit(ctx, req, "", by.Origin()))
}

// Question asks the user.
func (v *visit) Question(ctx context.Context, req sdk.QuestionRequest) ([][]string, error) {
	return v.step.question(ctx, req)
}

// CallTool calls a tool for a plugin.
func (v *visit) CallTool(ctx context.Context, by *generation.Plugin, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	if depth := tools.CallDepth(ctx); depth >= tools.MaxCallDepth {
		return nil, fmt.Errorf("call %s: tool calls are nested more than %d deep: a tool probably calls itself", req.Tool, tools.MaxCallDepth)
	}
	s := v.step
	s.tools = tools.All(ctx, s.toolScope())
	return s.callFor(ctx, &call{byPlugin: by, raw: req.Args}, req.Tool, s.currentMessage(), "")
}

// callFor runs a call that does not come from the model. It uses callTool, and records the call with its reason in the ledger. The error has the
// text that hooks gave it.
func (s *step) callFor(ctx context.Context, c *call, tool, message, reason string) (*sdk.ToolResult, error) {
	if len(c.raw) == 0 {
		c.raw = []byte("{}")
	}
	c.part = &sdk.ToolPart{
		PartHead: sdk.PartHead{SessionID: s.runner.session, MessageID: message}, CallID: s.conv.IDs.New("call"), Tool: tool,
		State: sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage("{}")},
	}
	begun := time.Now()
	if c.template != "" { // before it requests permission: clients show which command runs
		c.part.State.Input = c.raw
		s.publishPluginCall(c)
	}
	var running sync.WaitGroup
	s.callTool(ctx, c, &running)
	running.Wait()
	by := &c.byPlugin.Manifest
	entry := &hooks.Entry{
		Point: PointPluginCall, Plugin: by.Name, Version: by.Version, Hook: c.part.Tool, Subject: c.part.CallID,
		Outcome: hooks.Outcome(c.outcome.Kind), Reason: reason, DurationUS: time.Since(begun).Microseconds(),
	}
	if c.outcome.Err != nil {
		entry.Error = c.outcome.Err.Error()
	}
	s.ledger.Add(entry)
	if err := c.outcome.Failure(ctx); err != nil {
		return nil, err
	}
	return c.outcome.Result, nil
}

// publishPluginCall publishes the state of a plugin's call.
func (s *step) publishPluginCall(c *call) {
	var p sdk.ToolPart
	s.conv.Locked(func() { p = *c.part })
	s.publish(tools.PluginCallEvent(&p, c.byPlugin.Manifest.Name, c.template))
}

// Sample asks the session's model, or its small one, for an answer, once the user gave permission. It runs no tools.
func (v *visit) Sample(ctx context.Context, by *generation.Plugin, req sdk.SampleRequest) (*sdk.SampleResult, error) {
	s := v.step
	m := s.Model
	if req.Small {
		var err error
		if m, err = s.SmallModel(ctx); err != nil {
			return nil, err
		}
	}
	request := sdk.PermissionRequest{
		SessionID: req.SessionID, Permission: permission.Sampling, Agent: s.Agent.Name, Patterns: []string{by.Manifest.Name}, Always: []string{by.Manifest.Name},
		Metadata: sdk.Object{"plugin": by.Manifest.Name, "model": m.Ref().String(), "prompt": generation.PreviewOf(&req)},
	}
	if err := s.haltIfFinal(s.permit(ctx, request, "", by.Origin())); err != nil {
		return nil, err
	}
	s.Setup = s.As(s.Agent, m, sdk.PurposeSampling) // for this request; the purpose is in the ledger
	if len(req.Tools) > 0 && !s.Model.ToolCall {
		return nil, fmt.Errorf("the model %s cannot call tools", s.Model.Ref())
	}
	var system []string
	if req.System != "" {
		system = append(system, req.System)
	}
	a, err := s.AskSeparately(ctx, s.conv, s.user, req.Messages, s.ledger, func() *sdk.ModelRequest {
		r := s.Setup.Request(system, s.user.Model.Variant)
		if req.MaxTokens > 0 && (r.Params.MaxOutputTokens == 0 || req.MaxTokens < r.Params.MaxOutputTokens) {
			r.Params.MaxOutputTokens = req.MaxTokens
		}
		if req.Temperature != nil && s.Model.Temperature {
			r.Params.Temperature = req.Temperature
		}
		r.Tools, r.ToolChoice = req.Tools, req.ToolChoice
		return r
	})
	if err != nil {
		return nil, err
	}
	calls, err := a.Calls()
	if err != nil {
		return nil, err
	}
	return &sdk.SampleResult{Text: a.Text.String(), Model: s.Model.Ref().String(), FinishReason: a.Reason, Calls: calls}, nil
}
