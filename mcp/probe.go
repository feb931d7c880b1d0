package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// Probe connects to a server once and returns its definition, without storing it. After Approve, its
// tools are available from the first step.
func Probe(ctx context.Context, s Server, project sdk.Project, o Options) (def *Definition, err error) {
	err = once(ctx, s, project, o, func(c *connection) error {
		def = c.definition.Load()
		return nil
	})
	return def, err
}

// Call connects to a server once and calls a tool by the server's name for it. It requests no permission, because the user makes the call.
func Call(ctx context.Context, s Server, project sdk.Project, o Options, name string, args json.RawMessage) (result *sdk.ToolResult, err error) {
	err = once(ctx, s, project, o, func(c *connection) error {
		t, ok := c.definition.Load().tool(name)
		if !ok {
			return fmt.Errorf("tool %q not found", name)
		}
		raw, err := c.CallTool(ctx, &protocol.Call{}, t.Name, t.asTask(), args)
		if err == nil {
			result, err = decodeResult(raw, &t)
		}
		return err
	})
	return result, err
}

// once connects to a server for one purpose.
func once(ctx context.Context, s Server, project sdk.Project, o Options, use func(*connection) error) error {
	p := New(s, o)
	p.prepare(project)
	defer p.log.Close()
	c, err := p.dial(ctx)
	if err == nil {
		err = use(c)
		c.Close()
	}
	if err != nil {
		return &serverError{s.Name, err}
	}
	return nil
}
