package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Runner runs the contributions of one plugin, by their positions in the description. Its methods are safe for concurrent use.
type Runner interface {
	hooks.RemoteReadier
	// RunHook runs a hook and returns the JSON of its sdk.Answer, which may be empty.
	RunHook(ctx context.Context, n int, call *sdk.RemoteCall) ([]byte, error)
	// Call makes another call and returns the JSON of its answer, which may be empty. Errors: *sdk.ProviderError if the plugin reports that a
	// request to a model failed, the error of c.Event, errors.ErrUnsupported if the plugin does not have the method.
	Call(ctx context.Context, c *Call) ([]byte, error)
}

// Call is a call of a plugin, except that of a hook.
type Call struct {
	guest.Request
	By    ability.Caller
	Event func([]byte) error // takes the JSON of each event of a model's answer, from one goroutine
}

// Base is the part of a plugin that all carriers share: its manifest and contributions.
type Base struct {
	Unit
	carrier sdk.Carrier
	runner  Runner
	hooks   []sdk.Hook
	tools   []sdk.Tool
}

// NewBase returns the contributions of a description that package manifest accepts. The runner is called only for these contributions, and not
// by NewBase.
func NewBase(u *Unit, carrier sdk.Carrier, r Runner) *Base {
	b := &Base{Unit: *u, carrier: carrier, runner: r}
	d := &b.Description
	for i := range d.Hooks {
		h, _ := hookpoint.Hook(&d.Hooks[i], "", &hook{i, r}) // the manifest refuses all others
		b.hooks = append(b.hooks, h)
	}
	for i := range d.Tools {
		t := &tool{ToolDescription: &d.Tools[i], n: i, runner: r}
		if t.Prepares {
			b.tools = append(b.tools, preparingTool{t})
			continue
		}
		b.tools = append(b.tools, t)
	}
	return b
}

// Manifest returns the identity of the plugin.
func (b *Base) Manifest() sdk.Manifest {
	d := &b.Description
	return sdk.Manifest{
		Name: d.Name, Version: d.Version, Description: d.Summary, Carrier: b.carrier, Capabilities: d.Capabilities, Options: d.Options,
	}
}

// Hooks returns the hooks of the description.
func (b *Base) Hooks() []sdk.Hook { return b.hooks }

// Tools returns the tools of the description.
func (b *Base) Tools() []sdk.Tool { return b.tools }

// Providers returns the providers of the description that the grants permit.
func (b *Base) Providers() []sdk.ProviderInfo {
	usable, _ := Providers(&b.Description, b.Grants)
	return usable
}

// StartRequest returns the request that starts an instance of the plugin. project holds the facts about the host's project for the plugin.
func (b *Base) StartRequest(h sdk.Host, project sdk.Project) ([]byte, error) {
	options := json.RawMessage(cmp.Or(string(b.Options), string(h.Options()), "null"))
	req := guest.StartRequest{Options: options, Project: project, Hooks: []guest.HookRef{}, Tools: []string{}}
	for _, hook := range b.hooks {
		req.Hooks = append(req.Hooks, guest.HookRef{Point: hook.Point, Name: hook.Name})
	}
	for i := range b.Description.Tools {
		req.Tools = append(req.Tools, b.Description.Tools[i].ID)
	}
	data, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: options: %w", b.Description.Name, err)
	}
	return data, nil
}

// hook is hook n of a plugin.
type hook struct {
	n      int
	runner Runner
}

var _ hooks.RemoteReadier = (*hook)(nil)

// Ready returns an error while the hook would wait for the plugin.
func (h *hook) Ready() (began time.Time, err error) { return h.runner.Ready() }

// HandleRemote runs the hook.
func (h *hook) HandleRemote(ctx context.Context, call *sdk.RemoteCall) (answer sdk.Answer, err error) {
	data, err := h.runner.RunHook(ctx, h.n, call)
	if err == nil && len(data) > 0 {
		if err = Decode("answer of the hook", data, &answer); err == nil {
			err = hookpoint.CheckMembers(call.Point, &answer, data)
		}
	}
	if err != nil {
		return sdk.Answer{}, err
	}
	return answer, nil
}

// shownBytes is the maximum number of bytes of a bad answer that its error shows.
const shownBytes = 80

// Decode decodes data of a plugin. Errors wrap sdk.ErrWire and show its first bytes.
func Decode(what string, data []byte, v any) error {
	err := ability.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w: %q", sdk.ErrWire, what, jsontext.Mismatch(err), visible.Cut(string(data), shownBytes, "…"))
}

// tool is tool n of a plugin.
type tool struct {
	*sdk.ToolDescription
	n      int
	runner Runner
}

// preparingTool is a tool that lists the permissions of each call itself.
type preparingTool struct{ *tool }

var (
	_ sdk.Tool           = (*tool)(nil)
	_ sdk.ToolPermission = (*tool)(nil)
	_ sdk.ToolDeadline   = (*tool)(nil)
	_ sdk.ToolPreparer   = preparingTool{}
)

// Definition returns the definition for the model. A tool without parameters takes an empty object.
func (t *tool) Definition() sdk.ToolDefinition {
	d := t.ToolDefinition
	if len(d.Parameters) == 0 {
		d.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	return d
}

// Permission returns the permission key.
func (t *tool) Permission() string {
	return cmp.Or(t.ToolDescription.Permission, t.ID)
}

// Deadline returns the time limit of a call.
func (t *tool) Deadline() time.Duration {
	return cmp.Or(time.Duration(t.TimeoutMS)*time.Millisecond, sdk.DefaultToolTimeout)
}

// Execute runs the call.
func (t *tool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	result := &sdk.ToolResult{}
	if err := t.call(ctx, "tool", call, "output", result); err != nil {
		return nil, err
	}
	return result, nil
}

// call calls a method for the tool and decodes its answer. An answer without its required member is an error: with a misspelled member, the output
// would be lost, or the call would run without permission.
func (t *tool) call(outer context.Context, method string, call *sdk.ToolCall, member string, answer any) error {
	ctx, cancel := context.WithTimeout(outer, t.Deadline())
	defer cancel()
	body, err := json.Marshal(call)
	if err != nil {
		return err
	}
	data, err := t.runner.Call(ctx, &Call{
		Request: guest.Request{Method: method, Tool: t.n, Body: body}, By: ability.Caller{SessionID: call.SessionID, Tool: call.Host},
	})
	if err == nil && len(data) > 0 {
		err = Decode("answer of the tool "+t.ID, data, answer)
	}
	if err == nil && jsontext.Field(data, member) == nil {
		err = fmt.Errorf("%w: answer of the tool %s: want an object with %q, have %q", sdk.ErrWire, t.ID, member, visible.Cut(string(data), shownBytes, "…"))
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && outer.Err() == nil { // the host knows only its own time limits
		missed := map[string]string{"tool": "return its output", "prepare": "list its permissions"}[method]
		err = fmt.Errorf("the tool %s did not %s within %s: %w", t.ID, missed, t.Deadline(), context.DeadlineExceeded)
	}
	return err
}

// Prepare asks the plugin which permissions the call requires.
func (t preparingTool) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	var response guest.PrepareResponse
	if err := t.call(ctx, "prepare", call, "requests", &response); err != nil {
		return nil, err
	}
	return response.Requests, nil
}
