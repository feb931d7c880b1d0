package plugins

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// held is a plugin that contributes what was approved and nothing else.
type held struct {
	plugin  sdk.Plugin
	item    *Item
	asked   trust.Request
	options json.RawMessage
	log     *slog.Logger
	tools   map[string]bool

	mu      sync.Mutex
	refused map[string]bool // what was reported already
}

// rendering is a held plugin that makes the prompts of its commands itself.
type rendering struct {
	*held
	sdk.CommandRenderer
}

var (
	_ sdk.Plugin          = (*held)(nil)
	_ sdk.Hooker          = (*held)(nil)
	_ sdk.ToolSource      = (*held)(nil)
	_ sdk.ProtocolSource  = (*held)(nil)
	_ sdk.ProviderSource  = (*held)(nil)
	_ sdk.AgentSource     = (*held)(nil)
	_ sdk.CommandSource   = (*held)(nil)
	_ sdk.ReferenceSource = (*held)(nil)
)

// hold returns the plugin held to what the item was approved with. Skills a plugin would contribute at run time are never approved
// and left out.
func hold(p sdk.Plugin, i *Item, log *slog.Logger) sdk.Plugin {
	h := &held{plugin: p, item: i, asked: i.Request, options: i.options, log: log, tools: map[string]bool{}, refused: map[string]bool{}}
	if i.Decision.Previous != nil {
		h.asked = i.Decision.Previous.Request
	}
	for _, id := range h.asked.Tools {
		h.tools[id] = true
	}
	if r, ok := p.(sdk.CommandRenderer); ok {
		return rendering{h, r}
	}
	return h
}

// Unwrap returns the carrier's plugin.
func (h *held) Unwrap() sdk.Plugin { return h.plugin }

// Manifest returns the carrier's manifest under the name that was approved.
func (h *held) Manifest() sdk.Manifest {
	m := h.plugin.Manifest()
	m.Name, m.Carrier = h.item.Name, h.item.Carrier
	return m
}

// Start starts the plugin with its options, which the host knows only by the plugin's name and not by its path.
func (h *held) Start(ctx context.Context, host sdk.Host) error {
	if len(h.options) > 0 {
		host = &optionsHost{host, h.options}
	}
	return h.plugin.Start(ctx, host)
}

// Close closes the plugin.
func (h *held) Close(ctx context.Context) error { return h.plugin.Close(ctx) }

// Hooks returns the hooks that were approved, with no other fields than those.
func (h *held) Hooks() []sdk.Hook {
	source, ok := h.plugin.(sdk.Hooker)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(source.Hooks()), func(hook sdk.Hook) bool {
		return !h.approved(hook)
	})
}

// approved reports whether a hook is among those that were approved.
func (h *held) approved(hook sdk.Hook) bool {
	info, ok := hookpoint.Of(string(hook.Point))
	if !ok {
		return true // the hook engine tells what is wrong with it
	}
	name := hook.Name
	if name == "" {
		name = string(info.Point)
	}
	at := slices.IndexFunc(h.asked.Hooks, func(a trust.Hook) bool { return a.Point == info.Point && a.Name == name })
	if at < 0 {
		h.refuse("hook", trust.Hook{Point: info.Point, Name: name}.Label())
		return false
	}
	if info.NewValue == nil {
		return true
	}
	asked := h.asked.Hooks[at]
	outside := func(fields []string) func(string) bool {
		return func(f string) bool { return !value.Covers(fields, f) }
	}
	if slices.ContainsFunc(hook.Reads, outside(asked.Reads)) || slices.ContainsFunc(hook.Writes, outside(asked.Writes)) {
		h.refuse("hook", asked.Label()+": it wants other fields than were approved")
		return false
	}
	return true
}

// Tools returns the tools that were approved.
func (h *held) Tools() []sdk.Tool {
	source, ok := h.plugin.(sdk.ToolSource)
	if !ok {
		return nil
	}
	tools := source.Tools()
	other := func(t sdk.Tool) bool { return !h.tools[t.Definition().ID] }
	if !slices.ContainsFunc(tools, other) {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t sdk.Tool) bool {
		return other(t) && h.refuse("tool", t.Definition().ID)
	})
}

// Protocols returns the protocols that were approved.
func (h *held) Protocols() []sdk.Protocol {
	source, ok := h.plugin.(sdk.ProtocolSource)
	if !ok {
		return nil
	}
	return among(h, "protocol", h.asked.Protocols, source.Protocols(), func(p sdk.Protocol) string { return p.Name })
}

// Providers returns the providers that were approved.
func (h *held) Providers() []sdk.ProviderInfo {
	source, ok := h.plugin.(sdk.ProviderSource)
	if !ok {
		return nil
	}
	return among(h, "provider", h.asked.Providers, source.Providers(), func(p sdk.ProviderInfo) string { return p.ID })
}

// Agents returns the agents that were approved.
func (h *held) Agents() []sdk.Agent {
	source, ok := h.plugin.(sdk.AgentSource)
	if !ok {
		return nil
	}
	return among(h, "agent", h.asked.Agents, source.Agents(), func(a sdk.Agent) string { return a.Name })
}

// Commands returns the commands that were approved.
func (h *held) Commands(ctx context.Context) ([]sdk.Command, error) {
	source, ok := h.plugin.(sdk.CommandSource)
	if !ok {
		return nil, nil
	}
	commands, err := source.Commands(ctx)
	return among(h, "command", h.asked.Commands, commands, func(c sdk.Command) string { return c.Name }), err
}

// Reference resolves names as the plugin does.
func (h *held) Reference(ctx context.Context, name string) (sdk.Parts, bool, error) {
	source, ok := h.plugin.(sdk.ReferenceSource)
	if !ok {
		return nil, false, nil
	}
	return source.Reference(ctx, name)
}

// among returns the contributions whose names were approved.
func among[T any](h *held, kind string, names []string, list []T, name func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(list), func(e T) bool {
		return !slices.Contains(names, name(e)) && h.refuse(kind, name(e))
	})
}

// refuse reports, once, a contribution that was not approved. It returns true.
func (h *held) refuse(kind, name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if key := kind + " " + name; !h.refused[key] {
		h.refused[key] = true
		h.log.Warn("contribution refused: it was not approved; approve the plugin again", "kind", kind, "name", name)
	}
	return true
}
