// Package instructions is the plugin that adds AGENTS.md files, and the files listed under "instructions" in the
// configuration, to the system prompt. They are text for the model; nothing in them is run.
package instructions

import (
	"context"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the instructions plugin.
type Plugin struct {
	sources.Loader[string]
	extra []string // from the configuration, without URLs
}

var (
	_ sdk.Plugin = (*Plugin)(nil)
	_ sdk.Hooker = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "instructions", Description: "AGENTS.md and other instructions of the user and the project", Carrier: sdk.CarrierBuiltin}
}

// Start stores the host's project and configuration. It reads no files.
func (p *Plugin) Start(ctx context.Context, h sdk.Host) error {
	if err := p.Loader.Start(ctx, h); err != nil {
		return err
	}
	for _, entry := range p.Config.Instructions {
		if strings.HasPrefix(entry, "http://") || strings.HasPrefix(entry, "https://") {
			p.Log.Warn("instructions are not fetched from URLs; save the text in a file and list that", "url", entry)
			continue
		}
		p.extra = append(p.extra, entry)
	}
	return nil
}

// Hooks returns the hook that adds the instructions to the system prompt. It rereads the files if one of them has changed.
func (p *Plugin) Hooks() []sdk.Hook {
	return []sdk.Hook{sources.SystemHook("files", func(*sdk.ChatInput) string { return p.Current(p.load) })}
}
