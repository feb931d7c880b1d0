package plugins

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

// texts contributes the agents and commands of a package without a runtime.
type texts struct{ description *sdk.Description }

var (
	_ sdk.AgentSource   = (*texts)(nil)
	_ sdk.CommandSource = (*texts)(nil)
)

// Manifest returns the description of the package.
func (t *texts) Manifest() sdk.Manifest {
	d := t.description
	return sdk.Manifest{Name: d.Name, Version: d.Version, Description: d.Summary, Carrier: sdk.CarrierCommand}
}

// Start does nothing.
func (*texts) Start(context.Context, sdk.Host) error { return nil }

// Close does nothing.
func (*texts) Close(context.Context) error { return nil }

// Agents returns the agents.
func (t *texts) Agents() []sdk.Agent { return t.description.Agents }

// Commands returns the commands.
func (t *texts) Commands(context.Context) ([]sdk.Command, error) { return t.description.Commands, nil }
