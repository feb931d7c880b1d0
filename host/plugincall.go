package host

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// pointPluginCall is where the ledger has a tool call of a plugin; no hook is called there.
	pointPluginCall sdk.Point = "tool.call"
)

// CallTool calls a tool for a plugin.
func (v *visit) CallTool(ctx context.Context, by *generation.Plugin, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	if depth := tools.CallDepth(ctx); depth >= tools.MaxCallDepth {
		return nil, fmt.Errorf("call %s: tool calls may nest %d deep: this one is called from inside itself, or nearly", req.Tool, tools.MaxCallDepth)
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
		Outcome: hooks.Outcome(c.outcome.Kind), DurationUS: time.Since(begun).Microseconds(),
	}
	if c.outcome.Err != nil {
		entry.Error = c.outcome.Err.Error()
	}
	if err := c.outcome.Failure(ctx); err != nil {
		return nil, entry, err
	}
	return c.outcome.Result, entry, nil
}

// publishPluginCall publishes the state of a plugin's call.
func (t *turn) publishPluginCall(c *call) {
	var p sdk.ToolPart
	t.c.Locked(func() { p = *c.part })
	t.tell(tools.PluginCallEvent(&p, c.byPlugin.Manifest.Name, c.template))
}
