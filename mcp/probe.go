package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// Probe connects to a server once and returns its definition, without storing it. After Approve, its
// tools are available from the first step.
func Probe(ctx context.Context, s Server, project sdk.Project, o Options) (*Definition, error) {
	c, log, err := once(ctx, s, project, o)
	if err != nil {
		return nil, err
	}
	defer log.close()
	def := c.definition()
	c.Close()
	return def, nil
}

// Call connects to a server once and calls a tool by the server's name for it. It requests no permission: the user makes the call.
func Call(ctx context.Context, s Server, project sdk.Project, o Options, name string, args json.RawMessage) (*sdk.ToolResult, error) {
	c, log, err := once(ctx, s, project, o)
	if err != nil {
		return nil, err
	}
	defer log.close()
	defer c.Close()
	t, ok := c.definition().tool(name)
	if !ok {
		return nil, &serverError{s.Name, fmt.Errorf("tool %q not found", name)}
	}
	raw, err := c.CallTool(ctx, &protocol.Call{}, s.Limit(), t.Name, t.asTask(), args)
	if err != nil {
		return nil, &serverError{s.Name, err}
	}
	result, err := decodeResult(raw, &t)
	if err != nil {
		return nil, &serverError{s.Name, err}
	}
	return result, nil
}

// once connects to a server for one purpose. The caller closes both.
func once(ctx context.Context, s Server, project sdk.Project, o Options) (*connection, *serverLog, error) {
	o = o.withDefaults(project)
	log := newServerLog(LogPath(o.Dir, s), s)
	d := &dialer{
		server: s, options: &o, project: project, log: log, logger: slog.New(slog.DiscardHandler), changed: func() {}, updated: func(string) {},
	}
	c, err := d.dial(ctx)
	if err != nil {
		log.close()
		return nil, nil, &serverError{s.Name, err}
	}
	return c, log, nil
}
