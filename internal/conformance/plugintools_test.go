package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// The tools.
const (
	ToolEcho     = "echo"     // returns its arguments and the data of the call
	ToolProgress = "progress" // {"steps": n}: shows n steps
	ToolAsk      = "ask"      // {"permission": …, "pattern": …}: asks for permission
	ToolCount    = "count"    // {"key": …}: counts in the stored values
	ToolRecorded = "recorded" // {"key": …}: returns a recorded call
	ToolNested   = "nested"   // {"tool": …, "args": {…}}: calls another tool
	ToolSecret   = "secret"   // {"name": …}: returns the length of a secret
	ToolFail     = "fail"     // {"text": …, "fault": …}: fails
	ToolBig      = "big"      // {"bytes": n}: returns n bytes
	ToolPrepared = "prepared" // {"patterns": […], "refuse": …}: lists the required permissions
)

// PreparedTimeout is the deadline of the tool "prepared".
const PreparedTimeout = 7 * time.Second

// PreparedPermission is the permission key of the tool "prepared".
const PreparedPermission = "conformance"

func (p *Plugin) tools() []sdk.Tool {
	return []sdk.Tool{
		tool(ToolEcho, `{"type":"object"}`, p.echo),
		tool(ToolProgress, `{"type":"object","properties":{"steps":{"type":"integer"}},"required":["steps"]}`, p.progress),
		tool(ToolAsk, `{"type":"object","properties":{"permission":{"type":"string"},"pattern":{"type":"string"}}}`, p.ask),
		tool(ToolCount, `{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`, p.count),
		tool(ToolRecorded, `{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`, p.recorded),
		tool(ToolNested, `{"type":"object","properties":{"tool":{"type":"string"},"args":{"type":"object"}}}`, p.nested),
		tool(ToolSecret, `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`, p.secret),
		tool(ToolFail, `{"type":"object","properties":{"text":{"type":"string"},"fault":{"type":"string"}}}`, p.fail),
		tool(ToolBig, `{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}`, p.big),
		&prepared{tool(ToolPrepared, `{"type":"object"}`, p.echo)},
	}
}

// arguments are the arguments of all tools.
type arguments struct {
	Steps      int             `json:"steps"`
	Permission string          `json:"permission"`
	Pattern    string          `json:"pattern"`
	Patterns   []string        `json:"patterns"`
	Refuse     string          `json:"refuse"`
	Key        string          `json:"key"`
	Name       string          `json:"name"`
	Text       string          `json:"text"`
	Fault      Fault           `json:"fault"`
	Bytes      int             `json:"bytes"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
}

func tool(id, schema string, run func(context.Context, *sdk.ToolCall, *arguments) (*sdk.ToolResult, error)) sdk.Tool {
	def := sdk.ToolDefinition{ID: id, Description: "The tool " + id + " of the conformance suite.", Parameters: json.RawMessage(schema)}
	return sdk.FuncTool(def, func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		var args arguments
		if err := json.Unmarshal(call.Args, &args); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		return run(ctx, call, &args)
	})
}

// echo returns a result with all fields.
func (p *Plugin) echo(_ context.Context, call *sdk.ToolCall, _ *arguments) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{
		Title:  "echo of " + call.CallID,
		Output: string(call.Args),
		Metadata: sdk.Object{
			"tool": call.Tool, "sessionID": call.SessionID, "messageID": call.MessageID, "agent": call.Agent,
			"directory": call.Directory, "worktree": call.Worktree, "big": json.Number("12345678901234567890"),
		},
		Attachments: []*sdk.FilePart{{Mime: "image/png", Filename: "dot.png", URL: "data:image/png;base64,iVBORw0KGgo="}},
		KeepTail:    true,
	}, nil
}

func (p *Plugin) progress(_ context.Context, call *sdk.ToolCall, args *arguments) (*sdk.ToolResult, error) {
	for i := range args.Steps {
		call.Host.Progress("step "+strconv.Itoa(i+1), sdk.Object{"step": float64(i + 1)})
	}
	return &sdk.ToolResult{Output: "done"}, nil
}

func (p *Plugin) ask(ctx context.Context, call *sdk.ToolCall, args *arguments) (*sdk.ToolResult, error) {
	err := call.Host.Ask(ctx, sdk.PermissionRequest{
		SessionID: call.SessionID, Permission: args.Permission, Patterns: []string{args.Pattern}, Always: []string{args.Pattern},
	})
	if err != nil {
		return nil, err
	}
	return &sdk.ToolResult{Output: "granted"}, nil
}

func (p *Plugin) count(ctx context.Context, _ *sdk.ToolCall, args *arguments) (*sdk.ToolResult, error) {
	store := p.host.(sdk.KeyValue)
	old, _, err := store.Get(ctx, args.Key)
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(string(old))
	text := strconv.Itoa(n + 1)
	return &sdk.ToolResult{Output: text}, store.Set(ctx, args.Key, []byte(text))
}

func (p *Plugin) recorded(ctx context.Context, _ *sdk.ToolCall, args *arguments) (*sdk.ToolResult, error) {
	store := p.host.(sdk.KeyValue)
	value, found, err := store.Get(ctx, args.Key)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("nothing was recorded as %q", args.Key)
	}
	return &sdk.ToolResult{Output: string(value)}, nil
}

func (p *Plugin) nested(ctx context.Context, call *sdk.ToolCall, args *arguments) (*sdk.ToolResult, error) {
	result, err := p.host.(sdk.ToolCaller).CallTool(ctx, sdk.ToolRequest{SessionID: call.SessionID, Tool: args.Tool, Args: args.Args})
	if err != nil {
		return nil, err
	}
	return &sdk.ToolResult{Output: "nested: " + result.Output}, nil
}

func (p *Plugin) secret(ctx context.Context, _ *sdk.ToolCall, args *arguments) (*sdk.ToolResult, error) {
	value, err := p.host.(sdk.SecretReader).Secret(ctx, args.Name)
	if err != nil {
		return nil, err
	}
	return &sdk.ToolResult{Output: strconv.Itoa(len(value))}, nil
}

func (p *Plugin) fail(ctx context.Context, _ *sdk.ToolCall, args *arguments) (*sdk.ToolResult, error) {
	if err := p.commit(ctx, args.Fault); err != nil {
		return nil, err
	}
	return nil, errors.New(args.Text)
}

func (p *Plugin) big(_ context.Context, _ *sdk.ToolCall, args *arguments) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{Output: strings.Repeat("x", args.Bytes)}, nil
}

// prepared is a tool with all optional methods.
type prepared struct{ sdk.Tool }

var (
	_ sdk.ToolPreparer   = (*prepared)(nil)
	_ sdk.ToolPermission = (*prepared)(nil)
	_ sdk.ToolDeadline   = (*prepared)(nil)
)

// Prepare asks for the patterns among the arguments.
func (*prepared) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	var args arguments
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if args.Refuse != "" {
		return nil, errors.New(args.Refuse)
	}
	var out []sdk.PermissionRequest
	for _, pattern := range args.Patterns {
		out = append(out, sdk.PermissionRequest{
			Permission: PreparedPermission, Patterns: []string{pattern}, Always: []string{"*"}, Metadata: sdk.Object{"why": "because"},
		})
	}
	return out, nil
}

// Permission returns PreparedPermission.
func (*prepared) Permission() string { return PreparedPermission }

// Deadline returns PreparedTimeout.
func (*prepared) Deadline() time.Duration { return PreparedTimeout }
