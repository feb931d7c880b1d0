package generation

import (
	"context"
	"slices"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// Inventory lists the contents of the generation in force.
type Inventory struct{ r *Registry }

// use calls f with the generation in force, which stays open until f returns.
func use[T any](n Inventory, f func(*Set) T) T {
	g := n.r.Acquire()
	defer n.r.Release(g)
	return f(g)
}

// Hooks lists the hooks in the order they are called, point by point.
func (n Inventory) Hooks() []hooks.HookInfo {
	return use(n, func(g *Set) []hooks.HookInfo { return g.Engine.Order() })
}

// Failures returns how often hooks have failed in a row so far, by plugin and hook. Quarantined plugins are left out.
func (n Inventory) Failures() map[string]map[string]int {
	return use(n, func(g *Set) map[string]map[string]int { return g.Engine.Failures() })
}

// Config returns the configuration in force, after the hooks at config. It must not be changed.
func (n Inventory) Config() *sdk.Config {
	return use(n, func(g *Set) *sdk.Config { return g.Config })
}

// Agents lists the agents.
func (n Inventory) Agents() []sdk.Agent { return use(n, (*Set).Agents) }

// AgentInfo is an agent and where it came from.
type AgentInfo struct {
	sdk.Agent
	Plugin     string `json:"plugin,omitempty"`     // the contributing plugin; empty: only the configuration
	Configured bool   `json:"configured,omitempty"` // the configuration made it or changed it
	thirdParty bool
}

// AgentInfos lists the agents in the order of Agents.
func (n Inventory) AgentInfos(ctx context.Context) []AgentInfo {
	return use(n, func(g *Set) []AgentInfo { return g.agentInfos(ctx) })
}

// CommandInfos lists the commands that can be called.
func (n Inventory) CommandInfos(ctx context.Context) []Command {
	return use(n, func(g *Set) []Command { return g.Commands(ctx) })
}

// CompleteCommand returns the suggestions of a command's plugin for the last word of its arguments, at most until ctx ends. With the name @, it
// returns those of all plugins for a mention.
func (n Inventory) CompleteCommand(ctx context.Context, name, arguments string) []string {
	g := n.r.Acquire()
	defer n.r.Release(g)
	commands := g.Commands(ctx)
	var list []string
	for _, p := range g.Plugins {
		its := func(c Command) bool { return c.Name == name && c.Owner == p }
		if completer, ok := p.Value.(sdk.CommandCompleter); ok && (name == "@" || slices.ContainsFunc(commands, its)) {
			words, _ := hooks.WithDeadline(ctx, n.r.o.Logger, completeTimeout, func(ctx context.Context) ([]string, error) {
				return completer.CompleteCommand(ctx, name, arguments)
			}) // without suggestions after an error, the user just keeps typing
			list = append(list, words...)
		}
	}
	return list
}

// completeTimeout limits the wait for suggestions: the user is typing.
const completeTimeout = 2 * time.Second

// SkillInfos lists the skills that the model can load, unless rules deny it.
func (n Inventory) SkillInfos(ctx context.Context) []SkillInfo {
	return use(n, func(g *Set) []SkillInfo { return g.Skills(ctx) })
}

// Receivers lists the receivers of conversations that files of the repository chose and the user did not approve, sorted by provider.
func (n Inventory) Receivers(ctx context.Context) []model.Receiver {
	g := n.r.Acquire()
	defer n.r.Release(g)
	var chosen []model.Choice
	for _, a := range g.Agents() {
		if a.Model != nil && g.ChoosesAgentModel(&a) {
			chosen = append(chosen, model.Choice{Model: a.Model.String(), Key: "agent." + a.Name, Origin: a.Origin})
		}
	}
	for _, c := range g.builtinCommands(ctx) {
		if g.ChoosesCommandModel(&c) {
			chosen = append(chosen, model.Choice{Model: c.Model, Key: "command." + c.Name, Origin: c.Origin})
		}
	}
	return g.Models.Unapproved(ctx, chosen)
}

// Models lists the models of the providers that can be used, see model.Models.List.
func (n Inventory) Models(ctx context.Context) []model.Info {
	list, _ := n.ListModels(ctx, model.ListOptions{}) // no server is asked that could fail
	return list
}

// ListModels lists models. If servers fail, it returns their errors and the models of the others.
func (n Inventory) ListModels(ctx context.Context, o model.ListOptions) ([]model.Info, error) {
	g := n.r.Acquire()
	defer n.r.Release(g)
	return g.Models.List(ctx, o)
}

// AuthMethods returns the ways to sign in to a provider; all of them if id is empty.
func (n Inventory) AuthMethods(id string) []sdk.AuthMethod {
	all := use(n, func(g *Set) []sdk.AuthMethod { return slices.Clone(g.auth) })
	return slices.DeleteFunc(all, func(m sdk.AuthMethod) bool { return id != "" && m.Provider != id })
}

// ProviderInfos returns the providers, without models and keys.
func (n Inventory) ProviderInfos() []sdk.ProviderInfo {
	return use(n, func(g *Set) []sdk.ProviderInfo { return g.Models.Providers() })
}

// TestProvider tests the user's credentials for a provider, as model.Models.Test does.
func (n Inventory) TestProvider(ctx context.Context, id string) (models int, err error) {
	g := n.r.Acquire()
	defer n.r.Release(g)
	return g.Models.Test(ctx, id)
}

// Check returns the problems of the configured models and providers, of agents and commands, and of the default agent. It sends nothing.
func (n Inventory) Check(ctx context.Context) (out []model.Problem) {
	g := n.r.Acquire()
	defer n.r.Release(g)
	models, origins := map[string]string{}, map[string]string{}
	agents := g.Agents() // looks at the file of each agent
	for _, a := range agents {
		if key := checked.Join("agent", a.Name) + ".model"; a.Model != nil {
			models[key], origins[key] = a.Model.String(), a.Origin
		}
	}
	for _, c := range g.Commands(ctx) {
		key := checked.Join("command", c.Name)
		models[key+".model"], origins[key+".model"] = c.Model, c.Origin
		if c.Agent == "" || slices.ContainsFunc(agents, func(a sdk.Agent) bool { return a.Name == c.Agent }) {
			continue
		}
		if _, err := g.Agent(c.Agent); err != nil {
			out = append(out, model.Problem{Key: key + ".agent", Err: err, Origin: c.Origin})
		}
	}
	if _, err := g.DefaultAgent(); err != nil {
		out = append(out, model.Problem{Key: "default_agent", Err: err})
	}
	for _, p := range g.Models.Check(ctx, models) {
		p.Origin = origins[p.Key]
		out = append(out, p)
	}
	return out
}

// DoubtModel returns an error if a model is none of the known models of its provider; see model.Models.Doubt.
func (n Inventory) DoubtModel(name string) error {
	return use(n, func(g *Set) error { return g.Models.Doubt(name) })
}

// DefaultModel returns the model of sessions that name none, and the reason for the choice.
func (n Inventory) DefaultModel(ctx context.Context) (model.Picked, error) {
	g := n.r.Acquire()
	defer n.r.Release(g)
	return g.Models.Choose(ctx)
}
