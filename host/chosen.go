package host

import (
	"context"

	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// choosesAgentModel reports whether files of the repository may have named the model of an agent.
func (g *generation) choosesAgentModel(h *Host, a *sdk.Agent) bool {
	return h.fromProject(a.Origin) || g.own != nil && g.own.Agent[a.Name].Model != g.config.Agent[a.Name].Model
}

// choosesCommandModel reports whether files of the repository may have named the model of a command.
func (g *generation) choosesCommandModel(h *Host, c *sdk.Command) bool {
	return h.fromProject(c.Origin) || g.own != nil && g.own.Command[c.Name].Model != g.config.Command[c.Name].Model
}

func (h *Host) fromProject(origin string) bool {
	return h.opts.FromProject != nil && h.opts.FromProject(origin)
}

// Receivers lists who would receive conversations by the choice of the repository's files and is not approved, sorted by provider.
func (h *Host) Receivers(ctx context.Context) []Receiver {
	g := h.acquire()
	defer h.release(g)
	var chosen []model.Choice
	for _, a := range h.agents(g) {
		if a.Model != nil && g.choosesAgentModel(h, &a) {
			chosen = append(chosen, model.Choice{Model: a.Model.String(), Key: "agent." + a.Name, Origin: a.Origin})
		}
	}
	for _, c := range g.builtinCommands(ctx) {
		if g.choosesCommandModel(h, &c) {
			chosen = append(chosen, model.Choice{Model: c.Model, Key: "command." + c.Name, Origin: c.Origin})
		}
	}
	return g.models.Unapproved(ctx, chosen)
}

// Models lists the models of the providers that can be reached: configured ones, those whose key is
// there, local servers that answer, and those that need nothing.
func (h *Host) Models(ctx context.Context) []ModelInfo {
	g := h.acquire()
	defer h.release(g)
	return g.models.List(ctx)
}

// DefaultModel returns the model of sessions that name none, and why it is that one.
func (h *Host) DefaultModel(ctx context.Context) (ModelChoice, error) {
	g := h.acquire()
	defer h.release(g)
	return g.models.Choose(ctx)
}

// builtinCommands returns the commands of compiled-in plugins, which read those of the repository. Others are not asked: they may
// take long, and their commands are their own.
func (g *generation) builtinCommands(ctx context.Context) []sdk.Command {
	var out []sdk.Command
	for _, l := range g.plugins {
		if source, ok := l.plugin.(sdk.CommandSource); ok && l.builtin() {
			list, err := source.Commands(ctx)
			if err == nil { // else it is reported where commands are used
				out = append(out, list...)
			}
		}
	}
	return out
}
