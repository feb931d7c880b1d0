package host

import (
	"context"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// AgentInfo is an agent and where it came from.
type AgentInfo struct {
	sdk.Agent
	Plugin     string `json:"plugin,omitempty"`     // that contributes it; empty: the configuration alone
	Configured bool   `json:"configured,omitempty"` // the configuration made it or changed it
}

// CommandInfo is a command and the plugin that contributes it.
type CommandInfo struct {
	sdk.Command
	Plugin string `json:"plugin"`
}

// SkillInfo is a skill and the plugin that contributes it.
type SkillInfo struct {
	sdk.Skill
	Plugin string `json:"plugin"`
}

// AgentInfos lists the agents in the order of Agents.
func (h *Host) AgentInfos(ctx context.Context) []AgentInfo {
	g := h.acquire()
	defer h.release(g)
	owners, earlier := map[string]string{}, map[string][]string{}
	for _, l := range g.plugins {
		source, ok := l.plugin.(sdk.AgentSource)
		if !ok {
			continue
		}
		list, _ := ask(ctx, h, l, "agents", func(context.Context) ([]sdk.Agent, error) { return source.Agents(), nil })
		for _, a := range list {
			places := a.Replaces
			if owner, ok := owners[a.Name]; ok {
				places = slices.Concat(places, []string{"plugin " + owner}, earlier[a.Name])
			}
			owners[a.Name], earlier[a.Name] = l.manifest.Name, places
		}
	}
	var out []AgentInfo
	for _, a := range h.agents(g) {
		_, configured := g.config.Agent[a.Name]
		a.Replaces = earlier[a.Name]
		out = append(out, AgentInfo{Agent: a, Plugin: owners[a.Name], Configured: configured})
	}
	return out
}

// CommandInfos lists the commands that can be called.
func (h *Host) CommandInfos(ctx context.Context) []CommandInfo {
	g := h.acquire()
	defer h.release(g)
	var out []CommandInfo
	for _, c := range h.commands(ctx, g) {
		out = append(out, CommandInfo{Command: c.Command, Plugin: c.owner.manifest.Name})
	}
	return out
}

// SkillInfos lists the skills that the model can load, unless rules deny it.
func (h *Host) SkillInfos(ctx context.Context) []SkillInfo {
	g := h.acquire()
	defer h.release(g)
	var out []SkillInfo
	for _, s := range h.skills(ctx, g) {
		out = append(out, SkillInfo{Skill: s.Skill, Plugin: s.owner.manifest.Name})
	}
	return out
}

// skillOf is a skill and whose it is.
type skillOf struct {
	sdk.Skill
	owner *loaded
}

// skills lists the skills of all plugins; a later plugin's replaces an earlier one of the same name.
func (h *Host) skills(ctx context.Context, g *generation) []skillOf {
	var out []skillOf
	for _, l := range g.plugins {
		source, ok := l.plugin.(sdk.SkillSource)
		if !ok {
			continue
		}
		list, _ := ask(ctx, h, l, "skills", source.Skills)
		for _, s := range list {
			i := slices.IndexFunc(out, func(o skillOf) bool { return o.Name == s.Name })
			if i < 0 {
				out = append(out, skillOf{s, l})
				continue
			}
			s.Replaces = slices.Concat(s.Replaces, []string{out[i].Location}, out[i].Replaces)
			out[i] = skillOf{s, l}
		}
	}
	return out
}
