package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Runner runs the contributions of one plugin, by their positions in the description. Its methods are safe for concurrent use.
type Runner interface {
	// Hook returns the handler of a hook.
	Hook(n int, point sdk.Point) sdk.RemoteHandler
	// Execute runs a tool call.
	Execute(ctx context.Context, n int, call *sdk.ToolCall) (*sdk.ToolResult, error)
	// Prepare asks a tool which permissions a call requires.
	Prepare(ctx context.Context, n int, call *sdk.ToolCall) ([]sdk.PermissionRequest, error)
	// Auth sends the JSON of a guest.AuthRequest to the plugin and returns that of a guest.AuthAnswer. user is nil except during a login.
	Auth(ctx context.Context, request []byte, user sdk.AuthUser) ([]byte, error)
	// Stream sends a request on behalf of a session and calls event with the JSON of each event, from one goroutine. It returns the error of
	// event, the failure that the plugin reported, or why the plugin could not be asked.
	Stream(ctx context.Context, session string, req *guest.StreamRequest, event func([]byte) error) (*guest.ProviderError, error)
	// ListModels returns the models of a provider. Errors: as for Stream, errors.ErrUnsupported if the plugin cannot list them.
	ListModels(ctx context.Context, c *guest.Connection) ([]sdk.Model, *guest.ProviderError, error)
}

// Base is the part of a plugin that is the same in every carrier: its manifest and contributions.
type Base struct {
	Unit
	carrier sdk.Carrier
	runner  Runner
	hooks   []sdk.Hook
	tools   []sdk.Tool
}

// NewBase returns the contributions of a description. The runner is called only for these, and not yet. Errors wrap sdk.ErrManifest.
func NewBase(u *Unit, carrier sdk.Carrier, r Runner) (*Base, error) {
	b := &Base{Unit: *u, carrier: carrier, runner: r}
	m := b.Manifest()
	if err := m.Validate(); err != nil {
		return nil, err
	}
	d := &b.Description
	for i := range d.Hooks {
		point := sdk.Point(d.Hooks[i].Point)
		if info, ok := hookpoint.Of(d.Hooks[i].Point); ok {
			point = info.Point
		}
		hook, err := hookpoint.Hook(&d.Hooks[i], fmt.Sprintf("plugin %q: hooks[%d]", d.Name, i), r.Hook(i, point))
		if err != nil {
			return nil, err
		}
		b.hooks = append(b.hooks, hook)
	}
	for i := range d.Tools {
		t := &tool{ToolDescription: &d.Tools[i], n: i, runner: r}
		if t.Prepares {
			b.tools = append(b.tools, preparingTool{t})
			continue
		}
		b.tools = append(b.tools, t)
	}
	return b, nil
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

// StartRequest returns the request that starts an instance of the plugin. project is what the plugin may know of the host's.
func (b *Base) StartRequest(h sdk.Host, project sdk.Project) ([]byte, error) {
	options := b.Options
	if len(options) == 0 {
		options = h.Options()
	}
	if len(options) == 0 {
		options = json.RawMessage("null")
	}
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
	if t.TimeoutMS == 0 {
		return sdk.DefaultToolTimeout
	}
	return time.Duration(t.TimeoutMS) * time.Millisecond
}

// Execute runs the call.
func (t *tool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Deadline())
	defer cancel()
	return t.runner.Execute(ctx, t.n, call)
}

// Prepare asks the plugin which permissions the call requires.
func (t preparingTool) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Deadline())
	defer cancel()
	return t.runner.Prepare(ctx, t.n, call)
}
