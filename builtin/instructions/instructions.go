// Package instructions is the plugin that puts AGENTS.md files, and the files that "instructions" in the
// configuration names, into the system prompt. They are text for the model; nothing in them is run.
package instructions

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is the instructions plugin.
type Plugin struct {
	log     *slog.Logger
	project sdk.Project
	extra   []string // of the configuration, without URLs

	mu    sync.Mutex
	watch sources.Watch
	text  string // what is added; empty without instructions
}

var (
	_ sdk.Plugin = (*Plugin)(nil)
	_ sdk.Hooker = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{log: slog.New(slog.DiscardHandler)} }

// Manifest names the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "instructions", Description: "AGENTS.md and other instructions of the user and the project", Carrier: sdk.CarrierBuiltin}
}

// Start remembers where to look. It reads nothing.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.log, p.project = h.Logger(), h.Project()
	p.watch = sources.NewWatch(p.project, p.log)
	c, ok := h.(sdk.ConfigReader)
	if !ok || c.Config() == nil {
		return nil
	}
	for _, entry := range c.Config().Instructions {
		if strings.HasPrefix(entry, "http://") || strings.HasPrefix(entry, "https://") {
			p.log.Warn("instructions are not fetched from URLs; save the text in a file and name that", "url", entry)
			continue
		}
		p.extra = append(p.extra, entry)
	}
	return nil
}

// Close does nothing: nothing runs between calls.
func (*Plugin) Close(context.Context) error { return nil }

// Hooks returns the hook that adds the instructions to the system prompt.
func (p *Plugin) Hooks() []sdk.Hook {
	h := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		if in.Purpose != sdk.PurposeTurn && in.Purpose != sdk.PurposeSubtask {
			return nil
		}
		if text := p.current(); text != "" {
			v.System = append(v.System, text)
		}
		return nil
	})
	h.Name = "files"
	h.Reads, h.Writes = []string{"/system"}, []string{"/system"}
	return []sdk.Hook{h}
}

// current returns the instructions. Files are read again when one of them changed, or appeared.
func (p *Plugin) current() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.watch.Fresh() {
		p.watch.Reset()
		p.text = p.load()
	}
	return p.text
}
