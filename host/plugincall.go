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
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/tools"
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

// CallTool calls a tool for a plugin.
func (v *visit) CallTool(ctx context.Context, by *generation.Plugin, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	if depth := callDepth(ctx); depth >= maxCallDepth {
		return nil, fmt.Errorf("call %s: tool calls may nest %d deep: this one is called from inside itself, or nearly", req.Tool, maxCallDepth)
	}
	t := v.turn
	t.tools = tools.All(ctx, t.toolScope())
	result, entry, err := t.callFor(ctx, &call{byPlugin: by, raw: req.Args}, req.Tool, t.place())
	v.entries = append(v.entries, entry)
	return result, err
}

// callFor takes a call that the model did not make through the choke point. It returns what the ledger has of it, and an error with what hooks made
// of its text.
func (t *turn) callFor(ctx context.Context, c *call, tool, message string) (*sdk.ToolResult, hooks.Entry, error) {
	if len(c.raw) == 0 {
		c.raw = []byte("{}")
	}
	c.part = &sdk.ToolPart{
		PartHead: sdk.PartHead{SessionID: t.r.session, MessageID: message}, CallID: t.c.IDs.New("call"), Tool: tool,
		State: sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage("{}")},
	}
	begun := time.Now()
	if c.template != "" { // before it is asked for: clients show whose command it is
		c.part.State.Input = c.raw
		t.publishPluginCall(c)
	}
	var running sync.WaitGroup
	t.callTool(ctx, c, &running)
	running.Wait()
	by := &c.byPlugin.Manifest
	entry := hooks.Entry{
		Point: pointPluginCall, Plugin: by.Name, Version: by.Version, Hook: c.part.Tool, Subject: c.part.CallID,
		Outcome: hooks.Outcome(c.outcome.kind), DurationUS: time.Since(begun).Microseconds(),
	}
	if c.outcome.err != nil {
		entry.Error = c.outcome.err.Error()
	}
	if err := c.outcome.failure(ctx); err != nil {
		return nil, entry, err
	}
	return c.outcome.result, entry, nil
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
		"sessionID": p.SessionID, "messageID": p.MessageID, "callID": p.CallID, "plugin": c.byPlugin.Manifest.Name,
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
