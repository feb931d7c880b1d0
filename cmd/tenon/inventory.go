package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host"
)

// inventory is what "agent", "command" and "skill" have in common: "list" prints what plugins and configuration contribute,
// "show" one of them in full.
type inventory[T any] struct {
	name, what string
	none       string // what is printed when there are none, with how to make one
	head       []string
	all        func(ctx context.Context, m *machine) []T
	row        func(v *T) []string
	id         func(v *T) string
	details    func(v *T) []string // pairs of a label and a value, and last the text
}

// inventoryCommand returns the command of an inventory.
func inventoryCommand[T any](a *app, v inventory[T]) *cobra.Command {
	cmd := &cobra.Command{Use: v.name, Aliases: []string{v.name + "s"}, Short: "List and show the " + v.what}
	group(cmd)
	var form string
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the " + v.what + " and where each came from",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMachine(cmd.Context(), func(_ *workspace, m *machine) error { return v.list(a, v.all(cmd.Context(), m), form) })
		},
	}
	format(list, &form)
	show := &cobra.Command{
		Use: "show NAME", Short: "Show one of the " + v.what + " in full, and what it replaces",
		Args: arguments(1, 1, "the name, as tenon "+v.name+" list has it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withMachine(cmd.Context(), func(_ *workspace, m *machine) error {
				return v.show(a, v.all(cmd.Context(), m), args[0], form)
			})
		},
	}
	format(show, &form)
	cmd.AddCommand(list, show)
	return cmd
}

func (v *inventory[T]) list(a *app, all []T, form string) error {
	if form == "json" {
		return a.writeJSON(append([]T{}, all...))
	}
	if len(all) == 0 {
		a.screen.line(v.none)
		return nil
	}
	t := &table{}
	t.add(v.head...)
	for i := range all {
		t.add(v.row(&all[i])...)
	}
	return a.writeTable(t)
}

func (v *inventory[T]) show(a *app, all []T, name, form string) error {
	i := slices.IndexFunc(all, func(one T) bool { return v.id(&one) == strings.TrimPrefix(name, "/") })
	if i < 0 {
		return usageError("tenon "+v.name+" list shows what there is", "there is no %s %q", v.name, name)
	}
	if form == "json" {
		return a.writeJSON(all[i])
	}
	var b strings.Builder
	details := v.details(&all[i])
	for ; len(details) > 1; details = details[2:] {
		if details[1] != "" {
			fmt.Fprintf(&b, "%-12s %s\n", details[0], details[1])
		}
	}
	if text := details[0]; text != "" {
		fmt.Fprintf(&b, "\n%s\n", visible(text))
	}
	return a.write(b.String())
}

func (a *app) agentCommand() *cobra.Command {
	from := func(l *host.AgentInfo) string {
		out := source(l.Plugin, l.Origin)
		if l.Configured && l.Plugin != "" {
			out += ", changed by the configuration"
		}
		return out
	}
	mode := func(l *host.AgentInfo) string {
		if l.Hidden {
			return oneLine(l.Mode) + ", hidden"
		}
		return oneLine(l.Mode)
	}
	return inventoryCommand(a, inventory[host.AgentInfo]{
		name: "agent", what: "agents", none: "there are no agents: write one in .tenon/agents/NAME.md",
		head: []string{"agent", "mode", "from", "description"},
		all:  func(ctx context.Context, m *machine) []host.AgentInfo { return m.AgentInfos(ctx) },
		id:   func(l *host.AgentInfo) string { return l.Name },
		row: func(l *host.AgentInfo) []string {
			return []string{oneLine(l.Name), mode(l), from(l) + over(l.Replaces), oneLine(l.Description)}
		},
		details: func(l *host.AgentInfo) []string {
			out := []string{"agent", oneLine(l.Name), "mode", mode(l), "from", from(l), "over", places(l.Replaces), "description", oneLine(l.Description)}
			if l.Model != nil {
				out = append(out, "model", oneLine(l.Model.String()))
			}
			if l.Steps > 0 {
				out = append(out, "steps", fmt.Sprint(l.Steps))
			}
			if l.Strict {
				out = append(out, "strict", "what its rules deny or ask for, only agent."+oneLine(l.Name)+".permission lifts")
			}
			for _, r := range l.Permission {
				out = append(out, "permission", ruleText(r))
			}
			return append(out, l.Prompt)
		},
	})
}

func (a *app) commandCommand() *cobra.Command {
	return inventoryCommand(a, inventory[host.CommandInfo]{
		name: "command", what: "commands",
		none: "there are no commands: write one in .tenon/commands/NAME.md, or under command in tenon.json",
		head: []string{"command", "agent", "from", "description"},
		all:  func(ctx context.Context, m *machine) []host.CommandInfo { return m.CommandInfos(ctx) },
		id:   func(l *host.CommandInfo) string { return l.Name },
		row: func(l *host.CommandInfo) []string {
			return []string{"/" + oneLine(l.Name), oneLine(l.Agent), source(l.Plugin, l.Origin) + over(l.Replaces), oneLine(l.Description)}
		},
		details: func(l *host.CommandInfo) []string {
			subtask := ""
			if l.Subtask != nil {
				subtask = fmt.Sprint(*l.Subtask)
			}
			return []string{
				"command", "/" + oneLine(l.Name), "from", source(l.Plugin, l.Origin), "over", places(l.Replaces),
				"description", oneLine(l.Description), "agent", oneLine(l.Agent), "model", oneLine(l.Model), "subtask", subtask, l.Template,
			}
		},
	})
}

func (a *app) skillCommand() *cobra.Command {
	return inventoryCommand(a, inventory[host.SkillInfo]{
		name: "skill", what: "skills", none: "there are no skills: write one in .tenon/skills/NAME/SKILL.md",
		head: []string{"skill", "from", "description"},
		all:  func(ctx context.Context, m *machine) []host.SkillInfo { return m.SkillInfos(ctx) },
		id:   func(l *host.SkillInfo) string { return l.Name },
		row: func(l *host.SkillInfo) []string {
			return []string{oneLine(l.Name), source(l.Plugin, l.Location) + over(l.Replaces), oneLine(l.Description)}
		},
		details: func(l *host.SkillInfo) []string {
			return []string{
				"skill", oneLine(l.Name), "from", source(l.Plugin, l.Location), "over", places(l.Replaces), "description", oneLine(l.Description), l.Body,
			}
		},
	})
}

// over says, for a column, what a definition replaces.
func over(replaces []string) string {
	if len(replaces) == 0 {
		return ""
	}
	return ", over " + places(replaces)
}

func places(list []string) string {
	out := make([]string, len(list))
	for i, place := range list {
		out[i] = oneLine(place)
	}
	return strings.Join(out, ", ")
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
