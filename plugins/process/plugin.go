package process

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// remotePlugin is a plugin that runs as a process.
type remotePlugin struct {
	*remote.Base
	super *supervisor
}

var (
	_ sdk.Hooker         = (*remotePlugin)(nil)
	_ sdk.ToolSource     = (*remotePlugin)(nil)
	_ sdk.ProtocolSource = (*remotePlugin)(nil)
	_ sdk.ProviderSource = (*remotePlugin)(nil)
	_ sdk.AuthSource     = (*remotePlugin)(nil)
	_ sdk.AgentSource    = (*remotePlugin)(nil)
	_ sdk.CommandSource  = (*remotePlugin)(nil)
)

func newPlugin(o Options, u *remote.Unit) (*remotePlugin, error) {
	p := &remotePlugin{super: newSupervisor(o, u)}
	var err error
	if p.Base, err = remote.NewBase(u, sdk.CarrierProcess, p.super); err != nil {
		return nil, err
	}
	return p, nil
}

// Start stores the start request of processes. It starts none.
func (p *remotePlugin) Start(_ context.Context, h sdk.Host) error {
	request, err := p.StartRequest(h, h.Project())
	if err != nil {
		return err
	}
	if p.Broker != nil {
		p.Broker.Bind(h)
	}
	p.super.bind(newHostService(h, &p.Unit), request)
	return nil
}

// Close ends the process and waits for its goroutines.
func (p *remotePlugin) Close(ctx context.Context) error {
	p.super.close(ctx)
	if p.Broker == nil {
		return nil
	}
	return p.Broker.Close(ctx)
}

// Agents returns the agents the description lists.
func (p *remotePlugin) Agents() []sdk.Agent { return p.Description.Agents }

// Commands returns the commands the description lists.
func (p *remotePlugin) Commands(context.Context) ([]sdk.Command, error) {
	return p.Description.Commands, nil
}

// describe runs a process to ask for its contributions.
func describe(ctx context.Context, o Options, u *remote.Unit) (sdk.Description, error) {
	var d sdk.Description
	in, err := begin(ctx, o, u, sdk.Project{}, u.Logger, func(ctx context.Context, in *instance) error {
		response, err := in.api.Describe(ctx, &tenonv1.DescribeRequest{})
		if err != nil {
			return in.explain(err)
		}
		if err := json.Unmarshal(response.Description, &d); err != nil {
			return fmt.Errorf("%w: its description: %w", sdk.ErrManifest, err)
		}
		return nil
	})
	if err != nil {
		return sdk.Description{}, err
	}
	in.close(context.WithoutCancel(ctx))
	return d, nil
}
