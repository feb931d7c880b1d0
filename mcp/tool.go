package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/toolschema"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// tool is a tool for the host. It waits for a starting server.
type tool struct {
	sdk.Tool
	plugin *Plugin
}

var _ sdk.ToolDeadline = (*tool)(nil)

// Deadline returns the maximum duration of a call. A call without progress ends much earlier.
func (t *tool) Deadline() time.Duration {
	return t.plugin.server.Limit() + max(protocol.MaxCallTime, t.plugin.server.Limit())
}

func (p *Plugin) newTool(id, description string, parameters json.RawMessage, run func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error)) sdk.Tool {
	return &tool{sdk.FuncTool(sdk.ToolDefinition{ID: id, Description: description, Parameters: parameters}, run), p}
}

// serverTool returns a tool of the server for the host.
func (p *Plugin) serverTool(t Tool, id string) sdk.Tool {
	return p.newTool(id, cmp.Or(t.Description, t.Title), t.InputSchema, func(ctx context.Context, c *sdk.ToolCall) (*sdk.ToolResult, error) {
		raw, err := p.callTool(ctx, t, c.Args, &protocol.Call{Session: c.SessionID, Host: c.Host})
		if err != nil {
			return nil, err
		}
		result, err := decodeResult(raw, &t)
		if err != nil {
			return nil, p.explain(ctx, err)
		}
		result.Metadata = sdk.Object{"server": p.server.Name, "tool": t.Name}
		result.Title = visible.Bound(cmp.Or(t.Title, t.Annotations.Title, t.Name), 200)
		return result, nil
	})
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
		return args // the arguments of a tool that is used as a hook
	}
	rest, _ := toolschema.WithoutNulls(schema, args)
	return rest
}

// maxToolID is the maximum length of a tool's identifier.
const maxToolID = 64

// Names of the tools for a server's resources, after the server's name.
const (
	listResources = "list_resources"
	readResource  = "read_resource"
)

// reserved are the names of tenon's tools and permissions that a server and a tool could form. They have their own rules: tool_search is allowed.
var reserved = [...]string{"apply_patch", "tool_search", sdk.PermissionExternalDirectory, sdk.PermissionDoomLoop}

// toolIDs returns the identifiers of a server's tools: the server's name and the tool's, joined by an underscore. It replaces characters
// that are not allowed by underscores. An identifier that is too long, not unique or reserved ends in a hash.
func toolIDs(server string, names []string) []string {
	ids := make([]string, len(names))
	count := map[string]int{}
	for i, name := range names {
		ids[i] = identifier(server) + "_" + identifier(name)
		count[ids[i]]++
	}
	for i, id := range ids {
		if len(id) > maxToolID || count[id] > 1 || slices.Contains(reserved[:], strings.ToLower(id)) {
			sum := shortHash([]byte(server + "\x00" + names[i]))
			ids[i] = id[:min(len(id), maxToolID-len(sum)-1)] + "_" + sum
		}
	}
	return ids
}

// ToolID returns the identifier of a server's tool for permission rules. It differs from the identifier in
// requests if two tools of the server would have the same one.
func ToolID(server, tool string) string { return toolIDs(server, []string{tool})[0] }

// notInIdentifier matches a character that tool identifiers cannot have.
var notInIdentifier = lazyregexp.New(`[^A-Za-z0-9_-]`)

func identifier(name string) string { return notInIdentifier().ReplaceAllString(name, "_") }
