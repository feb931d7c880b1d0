package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/tenonhq/tenon/internal/toolschema"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// tool is a tool of the server for the host.
type tool struct {
	plugin *Plugin
	tool   Tool
	id     string
}

var (
	_ sdk.Tool         = (*tool)(nil)
	_ sdk.ToolDeadline = (*tool)(nil)
)

// Definition returns the tool's description for the model.
func (t *tool) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{ID: t.id, Description: cmp.Or(t.tool.Description, t.tool.Title), Parameters: t.tool.InputSchema}
}

// Deadline returns the maximum duration of a call. A call without progress ends much earlier.
func (t *tool) Deadline() time.Duration { return t.plugin.longest() }

func (p *Plugin) longest() time.Duration {
	return p.server.Limit() + max(protocol.MaxCallTime, p.server.Limit())
}

// Execute calls the tool. It waits for a starting server.
func (t *tool) Execute(ctx context.Context, c *sdk.ToolCall) (*sdk.ToolResult, error) {
	raw, err := t.plugin.callTool(ctx, t.tool, c.Args, &protocol.Call{Session: c.SessionID, Host: c.Host})
	if err != nil {
		return nil, err
	}
	result, err := decodeResult(raw, &t.tool)
	if err != nil {
		return nil, t.plugin.explain(ctx, err)
	}
	result.Metadata = sdk.Object{"server": t.plugin.server.Name, "tool": t.tool.Name}
	result.Title = visible.Bound(cmp.Or(t.tool.Title, t.tool.Annotations.Title, t.tool.Name), 200)
	return result, nil
}

// callTool calls a tool if its definition is still the approved one.
func (p *Plugin) callTool(ctx context.Context, t Tool, args json.RawMessage, on *protocol.Call) (json.RawMessage, error) {
	p.mu.Lock()
	p.session = on.Session
	p.mu.Unlock()
	return p.ask(ctx, t.Annotations.ReadOnly, func(c *connection) (json.RawMessage, error) {
		if err := p.mayCall(c, "tool", t.Name); err != nil {
			return nil, err
		}
		return c.CallTool(ctx, on, t.Name, t.asTask(), t.arguments(args))
	})
}

// arguments returns the arguments of a call without nulls that the tool's schema does not allow: servers refuse them.
func (t *Tool) arguments(args json.RawMessage) json.RawMessage {
	schema, err := toolschema.Resolve(t.InputSchema)
	if err != nil {
		return args // of a tool that is used as a hook
	}
	rest, _ := toolschema.WithoutNulls(schema, args)
	return rest
}
