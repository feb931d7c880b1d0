package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxCallDepth is how deep tool calls may nest: a plugin calls a tool whose plugin calls a tool, and so on.
	maxCallDepth = 8
	// pointPluginCall is where the ledger has a tool call of a plugin; no hook is called there.
	pointPluginCall sdk.Point = "tool.call"
	// eventPluginCall tells of a tool call of a plugin: when it starts to run, when it shows progress and when it is over.
	eventPluginCall = "plugin.tool.updated"
)

// callKey is the key of the tool calls that a context belongs to: their identifiers from the outermost in, joined by "/".
type callKey struct{}

func inCall(ctx context.Context, c *call) context.Context {
	path := c.part.CallID
	if outer, ok := ctx.Value(callKey{}).(string); ok {
		path = outer + "/" + path
	}
	return context.WithValue(ctx, callKey{}, path)
}

// callDepth returns how many tool calls ctx is inside of.
func callDepth(ctx context.Context) int {
	path, ok := ctx.Value(callKey{}).(string)
	if !ok {
		return 0
	}
	return strings.Count(path, "/") + 1
}

// CallTool calls a tool on behalf of a session, the way every call takes. Nothing of it is in the conversation: the model did
// not make the call. The ledger has it, and events tell of it. Errors: ErrNoTurn; *sdk.Refusal; the tool's own.
func (p *pluginHost) CallTool(ctx context.Context, req sdk.ToolRequest) (result *sdk.ToolResult, err error) {
	if depth := callDepth(ctx); depth >= maxCallDepth {
		return nil, fmt.Errorf("call %s: tool calls may nest %d deep: this one is called from inside itself, or nearly", req.Tool, maxCallDepth)
	}
	err = p.visit(ctx, req.SessionID, func(ctx context.Context, v *visit) error {
		c := v.call(ctx, p.self(v.turn.g), req)
		result, err = c.outcome.result, c.outcome.failure(ctx)
		if err != nil {
			result = nil
		}
		return err
	})
	return result, err
}

// self returns the plugin as the generation has it, or, when it is not of that generation, as it is known here.
func (p *pluginHost) self(g *generation) *loaded {
	for _, l := range g.plugins {
		if l.host == p {
			return l
		}
	}
	return &loaded{manifest: p.manifest, host: p}
}

// call takes a call through the choke point and notes it for the ledger.
func (v *visit) call(ctx context.Context, by *loaded, req sdk.ToolRequest) *call {
	t := v.turn
	t.tools = &toolset{tools: map[string]*tool{}}
	t.gather(ctx, t.tools)
	args := req.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	c := &call{byPlugin: by, raw: args, part: &sdk.ToolPart{
		PartHead: sdk.PartHead{SessionID: t.r.session, MessageID: t.place()}, CallID: t.c.IDs.New("call"), Tool: req.Tool,
		State: sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage("{}")},
	}}
	begun := time.Now()
	var running sync.WaitGroup
	t.callTool(ctx, c, &running)
	running.Wait()
	entry := hooks.Entry{
		Point: pointPluginCall, Plugin: by.manifest.Name, Version: by.manifest.Version, Hook: c.part.Tool, Subject: c.part.CallID,
		Outcome: hooks.Outcome(c.outcome.kind), DurationUS: time.Since(begun).Microseconds(),
	}
	if c.outcome.err != nil {
		entry.Error = c.outcome.err.Error()
	}
	v.entries = append(v.entries, entry)
	return c
}

// failure returns the error of a call for the plugin that asked for it, with what hooks made of its text.
func (o *outcome) failure(ctx context.Context) error {
	switch {
	case o.kind == sdk.OutcomeOK:
		return nil
	case o.kind == sdk.OutcomeAborted:
		return errors.Join(o.err, context.Cause(ctx))
	case o.refusal == nil:
		return o.err
	case o.refusal.Error() == o.err.Error():
		return o.refusal
	}
	return &sdk.Refusal{Halt: o.refusal.Halt, Reason: o.err.Error()}
}

// publishPluginCall tells how a plugin's call stands.
func (t *turn) publishPluginCall(c *call) {
	var p sdk.ToolPart
	t.c.Locked(func() { p = *c.part })
	info := &sdk.Object{
		"sessionID": p.SessionID, "messageID": p.MessageID, "callID": p.CallID, "plugin": c.byPlugin.manifest.Name,
		"tool": p.Tool, "status": p.State.Status, "input": p.State.Input,
	}
	for key, text := range map[string]string{"title": p.State.Title, "error": p.State.Error, "template": c.template} {
		if text != "" {
			(*info)[key] = text
		}
	}
	if len(p.State.Metadata) > 0 {
		(*info)["metadata"] = p.State.Metadata
	}
	t.c.Journal.Put(nil, sdk.Event{Type: eventPluginCall, Properties: info})
}
