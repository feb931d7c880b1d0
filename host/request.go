package host

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// wrapUp is what the model is told in the last step its agent may take.
const wrapUp = "This is the last step of this turn: tools can no longer be called. " +
	"Answer now with what was done, what is left to do and what you would do next."

// request opens the step's message and builds the model request, through the hooks.
func (t *turn) request(ctx context.Context) (event, error) {
	if err := t.halted.reason(); err != nil {
		return evFail, err // by what a plugin asked for: a call of the model's ends the turn before this
	}
	if t.msg == nil {
		t.openStep()
	}
	messages := live.Active(t.c.Snapshot())
	tools, err := t.newToolset(ctx, messages)
	if err != nil {
		return evFail, err
	}
	t.tools = tools
	req := &sdk.ModelRequest{
		Model: t.model.Model, SessionID: t.r.session, Purpose: t.purpose, System: t.system(), Tools: tools.definitions,
		ToolChoice: t.toolChoice(), Params: t.params(), Headers: t.headers(),
	}
	if err := t.transformRequest(ctx, req, messages, t.ledger); err != nil {
		return evFail, err
	}
	if t.atLimit() {
		req.Messages = append(req.Messages, sdk.ModelMessage{Role: sdk.RoleUser, Content: []sdk.ModelContent{{Type: sdk.ContentText, Text: wrapUp}}})
	}
	t.req = req
	return evBuilt, nil
}

// openStep begins a step: its message, durable before any tool runs, holds everything that comes of it.
func (t *turn) openStep() {
	t.step++
	t.tries = 0
	t.calls = nil
	t.ledger = &hooks.Ledger{}
	t.msg = &sdk.AssistantMessage{
		MessageHead: sdk.MessageHead{ID: t.c.IDs.New(sdk.PrefixMessage), SessionID: t.r.session},
		ParentID:    t.user.ID, ModelID: t.model.ID, ProviderID: t.model.ProviderID, Mode: t.agent.Name, Agent: t.agent.Name,
		Variant: t.user.Model.Variant, Path: sdk.MessagePath{Cwd: t.h.opts.Project.Directory, Root: t.h.opts.Project.Worktree},
		Time: sdk.MessageTime{Created: live.Now()},
	}
	t.c.Add(t.msg, &sdk.StepStartPart{PartHead: t.c.NewPart(t.msg)})
	t.show(t.user)
}

// transformRequest runs the hooks of a model request over it and turns the messages into the model's.
func (t *turn) transformRequest(ctx context.Context, req *sdk.ModelRequest, messages []sdk.MessageWithParts, ledger *hooks.Ledger) error {
	engine, scope := t.g.Engine, hooks.Scope{Ledger: ledger}
	var in *sdk.ChatInput
	run := func(p sdk.Point, value any) error {
		if !engine.Has(p) {
			return nil
		}
		if in == nil {
			in = t.chatInput(req)
		}
		_, err := engine.Transform(ctx, p, scope, in, value)
		return err
	}
	mv := &sdk.ChatMessagesValue{Messages: messages}
	if err := run(sdk.PointChatMessages, mv); err != nil {
		return err
	}
	if engine.Has(sdk.PointChatMessages) { // they may have changed any message
		req.Messages = convert.Messages(mv.Messages, &req.Model)
	} else {
		req.Messages = t.converted.Messages(messages, &req.Model)
	}
	sv := &sdk.ChatSystemValue{System: req.System}
	if err := run(sdk.PointChatSystem, sv); err != nil {
		return err
	}
	req.System = sv.System
	if err := run(sdk.PointChatParams, &req.Params); err != nil {
		return err
	}
	hv := &sdk.ChatHeadersValue{Headers: req.Headers}
	if err := run(sdk.PointChatHeaders, hv); err != nil {
		return err
	}
	req.Headers = hv.Headers
	return nil
}

func (t *turn) chatInput(req *sdk.ModelRequest) *sdk.ChatInput {
	in := &sdk.ChatInput{
		SessionID: t.r.session, Agent: t.agent.Name, Model: req.Model, Provider: model.ProviderRef(&t.model.Provider),
		Message: t.user, Purpose: req.Purpose,
	}
	if req.Purpose == sdk.PurposeTurn || req.Purpose == sdk.PurposeSubtask {
		in.Step = t.step
	}
	return in
}

// system returns the system prompt before the hooks: the agent's, what surrounds it, and the user's own.
func (t *turn) system() []string {
	out := []string{t.agent.Prompt}
	if t.agent.Prompt == "" {
		out[0] = t.g.DefaultPrompt()
	}
	out = append(out, t.environment())
	if t.user.System != "" {
		out = append(out, t.user.System)
	}
	return out
}

func (t *turn) environment() string {
	p := t.h.opts.Project
	git := "no"
	if p.Git {
		git = "yes"
	}
	return fmt.Sprintf("<env>\nModel: %s\nWorking directory: %s\nProject root: %s\nGit repository: %s\nPlatform: %s\nToday: %s\n</env>",
		t.model.Ref(), p.Directory, p.Worktree, git, runtime.GOOS, time.Now().Format("Mon Jan 2 2006"))
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

// params returns the parameters before the hooks: the model's options, then the variant's, then the
// agent's, the later ones winning.
func (t *turn) params() sdk.ChatParams {
	p := sdk.ChatParams{TopP: t.agent.TopP, MaxOutputTokens: model.OutputLimit(&t.model.Model), Options: sdk.Object{}}
	if t.model.Temperature {
		p.Temperature = t.agent.Temperature
	}
	variant := t.user.Model.Variant
	if variant == "" {
		variant = t.agent.Variant
	}
	for _, o := range []sdk.Object{t.model.Options, t.model.Variants[variant], t.agent.Options} {
		maps.Copy(p.Options, o)
	}
	return p
}

// headers returns the headers before the hooks. Their names are opencode's, which gateways know.
func (t *turn) headers() map[string]string {
	h := map[string]string{
		"X-Session-Id": t.r.session, "X-Session-Affinity": t.r.session, "User-Agent": "tenon/" + t.h.opts.Version,
	}
	if parent := t.c.SessionCopy().ParentID; parent != "" {
		h["X-Parent-Session-Id"] = parent
	}
	maps.Copy(h, t.model.Headers)
	return h
}
