// Package agents is the plugin that contributes agents: the built-in build, plan, general, explore and the hidden title,
// compaction and summary, and those that users and repositories define in Markdown.
package agents

import (
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the agents plugin.
type Plugin struct {
	sources.Loader[[]sdk.Agent]

	mu       sync.Mutex
	planning map[string]bool // sessions whose latest prompt was for plan
}

var (
	_ sdk.Plugin      = (*Plugin)(nil)
	_ sdk.AgentSource = (*Plugin)(nil)
	_ sdk.Hooker      = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{planning: map[string]bool{}} }

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "agents", Description: "the agents of tenon and those defined in Markdown", Carrier: sdk.CarrierBuiltin}
}

// Agents returns the agents, the default one first. It rereads the files if one of them, or a folder that can contain one, has
// changed. A file with an error is logged once and skipped.
func (p *Plugin) Agents() []sdk.Agent { return p.Current(p.load) }
