// Package agents is the plugin that contributes agents: those of tenon itself, which are build, plan, general,
// explore and the hidden title, compaction and summary, and those that users and repositories define in
// Markdown.
package agents

import (
	"context"
	"log/slog"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the agents plugin.
type Plugin struct {
	log     *slog.Logger
	project sdk.Project

	mu       sync.Mutex
	watch    sources.Watch
	list     []sdk.Agent     // what Agents returned last; never changed
	planning map[string]bool // sessions whose latest prompt was for plan
}

var (
	_ sdk.Plugin      = (*Plugin)(nil)
	_ sdk.AgentSource = (*Plugin)(nil)
	_ sdk.Hooker      = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{log: slog.New(slog.DiscardHandler), planning: map[string]bool{}} }

// Manifest names the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "agents", Description: "the agents of tenon and those defined in Markdown", Carrier: sdk.CarrierBuiltin}
}

// Start remembers where to look. It reads nothing.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.log, p.project = h.Logger(), h.Project()
	p.watch = sources.NewWatch(p.project, p.log)
	return nil
}

// Close does nothing: nothing runs between calls.
func (*Plugin) Close(context.Context) error { return nil }

// Agents returns the agents, the default one first. Files are read again when one of them, or a folder
// that may hold one, changed. A file that cannot be read is reported once and left out.
func (p *Plugin) Agents() []sdk.Agent {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.watch.Fresh() {
		p.watch.Reset()
		p.list = p.load(builtins())
	}
	return p.list
}
