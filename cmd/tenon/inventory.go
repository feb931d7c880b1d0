package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host"
)

// inventory is a command that only holds "list", which prints what plugins and configuration contribute.
func (a *app) inventory(name, what string, list func(ctx context.Context, m *machine, form string) error) *cobra.Command {
	cmd := &cobra.Command{Use: name, Aliases: []string{name + "s"}, Short: "List the " + what}
	group(cmd)
	var form string
	sub := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the " + what + " and where each came from",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMachine(cmd.Context(), func(_ *workspace, m *machine) error { return list(cmd.Context(), m, form) })
		},
	}
	format(sub, &form)
	cmd.AddCommand(sub)
	return cmd
}

func (a *app) agentCommand() *cobra.Command {
	return a.inventory("agent", "agents", func(ctx context.Context, m *machine, form string) error {
		list := m.AgentInfos(ctx)
		if form == "json" {
			return a.writeJSON(append([]host.AgentInfo{}, list...))
		}
		t := &table{}
		t.add("agent", "mode", "from", "description")
		for i := range list {
			l := &list[i]
			mode := oneLine(l.Mode)
			if l.Hidden {
				mode += ", hidden"
			}
			from := source(l.Plugin, l.Origin)
			if l.Configured && l.Plugin != "" {
				from += ", changed by the configuration"
			}
			t.add(oneLine(l.Name), mode, from, oneLine(l.Description))
		}
		return a.writeTable(t)
	})
}

func (a *app) commandCommand() *cobra.Command {
	return a.inventory("command", "commands", func(ctx context.Context, m *machine, form string) error {
		list := m.CommandInfos(ctx)
		if form == "json" {
			return a.writeJSON(append([]host.CommandInfo{}, list...))
		}
		if len(list) == 0 {
			a.screen.line("there are no commands: write one in .tenon/commands/NAME.md, or under command in tenon.json")
			return nil
		}
		t := &table{}
		t.add("command", "agent", "from", "description")
		for i := range list {
			l := &list[i]
			t.add("/"+oneLine(l.Name), oneLine(l.Agent), source(l.Plugin, l.Origin), oneLine(l.Description))
		}
		return a.writeTable(t)
	})
}

func (a *app) skillCommand() *cobra.Command {
	return a.inventory("skill", "skills", func(ctx context.Context, m *machine, form string) error {
		list := m.SkillInfos(ctx)
		if form == "json" {
			return a.writeJSON(append([]host.SkillInfo{}, list...))
		}
		if len(list) == 0 {
			a.screen.line("there are no skills: write one in .tenon/skills/NAME/SKILL.md")
			return nil
		}
		t := &table{}
		t.add("skill", "from", "description")
		for i := range list {
			l := &list[i]
			t.add(oneLine(l.Name), source(l.Plugin, l.Location), oneLine(l.Description))
		}
		return a.writeTable(t)
	})
}

// source says where something came from: the file it was defined in, else the plugin. What a plugin says of itself is
// told with its name.
func source(plugin, origin string) string {
	if own := shippedNames(); origin != "" && (plugin == "" || own[plugin]) {
		return oneLine(origin)
	}
	from := "plugin " + oneLine(plugin)
	if origin != "" {
		from += ", " + oneLine(origin)
	}
	return from
}

func shippedNames() map[string]bool {
	out := map[string]bool{}
	for _, n := range names(shipped()) {
		out[n] = true
	}
	return out
}
