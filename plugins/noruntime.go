package plugins

import (
	"context"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// stub returns the replacement of a plugin in quarantine: it has the approved hooks, so that their failure policies apply, but opens and
// starts nothing. The host knows that it is in quarantine and never calls its hooks.
func (l *Loader) stub(i *Item) sdk.Plugin {
	list := i.Request.Hooks
	if i.Request.Undescribed {
		list = i.Decision.Previous.Request.Hooks
	}
	out := &sdk.Bundle{Info: sdk.Manifest{Name: i.Name, Version: i.Manifest.Version, Carrier: i.Carrier}}
	for _, h := range list {
		hook, err := hookpoint.Hook(&h.HookDescription, "hooks", quarantined{})
		if err != nil {
			l.log.Warn("hook of a plugin in quarantine left out", "plugin", i.Name, "err", err)
			continue
		}
		out.HookList = append(out.HookList, hook)
	}
	return out
}

// quarantined handles the hooks of a plugin in quarantine.
type quarantined struct{}

// HandleRemote fails.
func (quarantined) HandleRemote(context.Context, *sdk.RemoteCall) (sdk.Answer, error) {
	return sdk.Answer{}, hooks.ErrQuarantined
}

// texts contributes the agents and commands of a package without a runtime.
type texts struct {
	sdk.Bundle
	description *sdk.Description
}

var (
	_ sdk.AgentSource   = (*texts)(nil)
	_ sdk.CommandSource = (*texts)(nil)
)

// Agents returns the agents.
func (t *texts) Agents() []sdk.Agent { return t.description.Agents }

// Commands returns the commands.
func (t *texts) Commands(context.Context) ([]sdk.Command, error) { return t.description.Commands, nil }
