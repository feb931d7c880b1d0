package generation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/sdk"
)

// Agents returns the agents by the order of their plugins, with the configuration applied, which changes or adds agents. A plugin's agent
// replaces an earlier one of the same name, but one of a third-party plugin only those of others, see yields.
func (g *Set) Agents() []sdk.Agent {
	var out []sdk.Agent
	for _, a := range g.agentInfos(g.r.ctx) {
		out = append(out, a.Agent)
	}
	return out
}

// agentInfos is Agents, with the origin of each agent.
func (g *Set) agentInfos(ctx context.Context) []AgentInfo {
	var out []AgentInfo
	each(ctx, g, "agents", agentsOf, func(p *Plugin, a sdk.Agent) {
		i := slices.IndexFunc(out, func(o AgentInfo) bool { return !o.thirdParty && strings.EqualFold(o.Name, a.Name) })
		if i < 0 || !p.yields("agent", a.Name, out[i].Plugin) {
			out = replace(out, AgentInfo{Agent: a, Plugin: p.Manifest.Name, thirdParty: !p.Builtin()}, func(o AgentInfo) bool { return o.Name == a.Name })
		}
	})
	for _, name := range slices.Sorted(maps.Keys(g.Config.Agent)) {
		c, same := g.Config.Agent[name], func(a AgentInfo) bool { return a.Name == name }
		a := AgentInfo{Agent: sdk.Agent{Name: name, Mode: sdk.ModeAll, Origin: sdk.OriginConfiguration}}
		if i := slices.IndexFunc(out, same); i >= 0 {
			a = out[i]
		}
		a.Configure(&c) // except for its permission rules: see Rules
		a.Configured = true
		out = replace(out, a, same)
	}
	return slices.DeleteFunc(out, func(a AgentInfo) bool { return a.Disabled })
}

// Agent returns an agent by name.
func (g *Set) Agent(name string) (sdk.Agent, error) {
	list := g.Agents()
	var names []string
	for _, a := range list {
		if a.Name == name {
			return a, nil
		}
		if !a.Hidden {
			names = append(names, a.Name)
		}
	}
	problem := live.ErrNotFound
	if g.Config.Agent[name].Disable {
		problem = ErrDisabled
	}
	return sdk.Agent{}, fmt.Errorf("agent %q: %w; the agents are %s", name, problem, strings.Join(names, ", "))
}

// DefaultAgent returns the agent of sessions that name none.
func (g *Set) DefaultAgent() (sdk.Agent, error) {
	a, err := g.Agent(cmp.Or(g.Config.DefaultAgent, sdk.AgentBuild))
	switch {
	case a.Hidden && g.Config.DefaultAgent != "":
		err = fmt.Errorf("agent %q: %w among the visible agents; it is hidden", a.Name, live.ErrNotFound)
	case a.Mode == sdk.ModeSubagent:
		err = fmt.Errorf("agent %q %w", a.Name, ErrSubagent)
	}
	return a, err
}

// ErrSubagent is wrapped by errors about an agent that only the task tool runs.
var ErrSubagent = errors.New("is a subagent, which the task tool runs")

// ErrDisabled is the ErrNotFound for an agent that the configuration disables.
var ErrDisabled = fmt.Errorf("%w: it is disabled in the configuration", live.ErrNotFound)

// DefaultPrompt returns the system prompt of agents without one: the build agent's, else that for the model; empty if no plugin contributes one.
func (g *Set) DefaultPrompt(m *sdk.Model) string {
	if a, err := g.Agent(sdk.AgentBuild); err == nil && a.Prompt != "" {
		return a.Prompt
	}
	if sources := compiledIn[sdk.PromptSource](g); len(sources) > 0 {
		return sources[0].SystemPrompt(m)
	}
	return ""
}

// byThirdParty reports whether a third-party plugin contributes an agent.
func (g *Set) byThirdParty(name string) bool {
	return slices.ContainsFunc(g.agentInfos(g.r.ctx), func(a AgentInfo) bool { return a.Name == name && a.thirdParty })
}

func agentsOf(s sdk.AgentSource, _ context.Context) ([]sdk.Agent, error) { return s.Agents(), nil }

// Subagents lists the agents that the model can ask, with those that menus hide.
func (g *Set) Subagents() []sdk.Agent {
	return slices.DeleteFunc(g.Agents(), func(a sdk.Agent) bool { return a.Mode == sdk.ModePrimary })
}

// ChoosesAgentModel reports whether files of the repository may have named the model of an agent.
func (g *Set) ChoosesAgentModel(a *sdk.Agent) bool {
	return g.r.fromProject(a.Origin) || g.own != nil && g.own.Agent[a.Name].Model != g.Config.Agent[a.Name].Model
}

func (r *Registry) fromProject(origin string) bool {
	return r.o.FromProject != nil && r.o.FromProject(origin)
}
