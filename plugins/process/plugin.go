package process

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// remotePlugin is a plugin that runs as a process.
type remotePlugin struct {
	unit      *remote.Unit
	super     *supervisor
	hooks     []sdk.Hook
	tools     []sdk.Tool
	protocols []sdk.Protocol
}

var (
	_ sdk.Hooker         = (*remotePlugin)(nil)
	_ sdk.ToolSource     = (*remotePlugin)(nil)
	_ sdk.ProtocolSource = (*remotePlugin)(nil)
	_ sdk.ProviderSource = (*remotePlugin)(nil)
	_ sdk.AgentSource    = (*remotePlugin)(nil)
	_ sdk.CommandSource  = (*remotePlugin)(nil)
)

func newPlugin(o Options, u *remote.Unit) (*remotePlugin, error) {
	p := &remotePlugin{unit: u, super: newSupervisor(o, u)}
	for i := range u.Description.Hooks {
		hook, err := u.Description.Hooks[i].Hook(fmt.Sprintf("plugin %q: hooks[%d]", u.Description.Name, i), &remoteHook{p.super, i})
		if err != nil {
			return nil, err
		}
		p.hooks = append(p.hooks, hook)
	}
	for i, d := range u.Description.Tools {
		if d.ID == "" || len(d.Parameters) > 0 && !json.Valid(d.Parameters) {
			return nil, fmt.Errorf("%w: plugin %q: tools[%d]: want an id, and parameters that are a JSON schema", sdk.ErrManifest, u.Description.Name, i)
		}
		if len(d.Parameters) == 0 {
			d.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		tool := &remoteTool{p.super, i, d}
		if d.Prepares {
			p.tools = append(p.tools, preparedTool{tool})
			continue
		}
		p.tools = append(p.tools, tool)
	}
	for _, name := range u.Description.Protocols {
		p.protocols = append(p.protocols, p.super.protocol(name))
	}
	return p, nil
}

// Manifest returns who the plugin is.
func (p *remotePlugin) Manifest() sdk.Manifest {
	d := &p.unit.Description
	return sdk.Manifest{
		Name: d.Name, Version: d.Version, Description: d.Summary, Carrier: sdk.CarrierProcess,
		Capabilities: d.Capabilities, Options: d.Options,
	}
}

// Start notes what a process is told when one is started. It starts none.
func (p *remotePlugin) Start(_ context.Context, h sdk.Host) error {
	req := guest.StartRequest{Options: p.unit.OptionsOf(h), Project: h.Project(), Hooks: []guest.HookRef{}, Tools: []string{}}
	for _, hook := range p.hooks {
		req.Hooks = append(req.Hooks, guest.HookRef{Point: hook.Point, Name: hook.Name})
	}
	for _, tool := range p.tools {
		req.Tools = append(req.Tools, tool.Definition().ID)
	}
	body, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("plugin %q: %w", p.unit.Description.Name, err)
	}
	if p.unit.Broker != nil {
		p.unit.Broker.Bind(h)
	}
	p.super.bind(newHostService(h, p.unit), body)
	return nil
}

// Close ends the process, and waits until nothing of it is left.
func (p *remotePlugin) Close(ctx context.Context) error {
	p.super.close(ctx)
	if p.unit.Broker == nil {
		return nil
	}
	return p.unit.Broker.Close(ctx)
}

// Hooks returns the hooks the description lists.
func (p *remotePlugin) Hooks() []sdk.Hook { return p.hooks }

// Tools returns the tools the description lists.
func (p *remotePlugin) Tools() []sdk.Tool { return p.tools }

// Protocols returns the wire protocols the description lists.
func (p *remotePlugin) Protocols() []sdk.Protocol { return p.protocols }

// Providers returns the providers the description lists.
func (p *remotePlugin) Providers() []sdk.ProviderInfo { return p.unit.Description.Providers }

// Agents returns the agents the description lists.
func (p *remotePlugin) Agents() []sdk.Agent { return p.unit.Description.Agents }

// Commands returns the commands the description lists.
func (p *remotePlugin) Commands(context.Context) ([]sdk.Command, error) {
	return p.unit.Description.Commands, nil
}

// describe runs a process to ask it what it contributes.
func describe(ctx context.Context, o Options, u *remote.Unit) (sdk.Description, error) {
	var d sdk.Description
	in, err := begin(ctx, o, u, sdk.Project{}, u.Logger, func(ctx context.Context, in *instance) error {
		response, err := in.api.Describe(ctx, &tenonv1.DescribeRequest{})
		if err != nil {
			return in.explain(err)
		}
		if err := json.Unmarshal(response.Description, &d); err != nil {
			return fmt.Errorf("%w: what it says of itself: %w", sdk.ErrManifest, err)
		}
		return nil
	})
	if err != nil {
		return sdk.Description{}, err
	}
	in.close(context.WithoutCancel(ctx))
	return d, nil
}
