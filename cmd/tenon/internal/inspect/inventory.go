package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
)

// inventory is the "list" and "show" commands for what plugins and configuration contribute: agents, commands or skills.
type inventory[T any] struct {
	name, what string // singular and plural
	listing    cli.Listing[T]
	all        func(ctx context.Context, m *cli.Machine) []T
	id         func(v *T) string
	details    func(v *T) []string // pairs of label and value, followed by the text
}

// inventoryCommand returns the command of an inventory.
func inventoryCommand[T any](a *cli.App, v inventory[T]) *cobra.Command {
	cmd := &cobra.Command{Use: v.name, Aliases: []string{v.name + "s"}, Short: "List and show " + v.what}
	cli.Group(cmd)
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List " + v.what + " and their sources",
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithMachine(cmd.Context(), func(m *cli.Machine) error { return cli.List(a, v.all(cmd.Context(), m), v.listing) })
		},
	}
	a.FormatFlag(list)
	show := &cobra.Command{
		Use: "show NAME", Short: "Show all details of one of the " + v.what,
		Args: cli.Args(1, 1, "a name from tenon "+v.name+" list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithMachine(cmd.Context(), func(m *cli.Machine) error {
				return v.show(a, v.all(cmd.Context(), m), args[0])
			})
		},
	}
	a.FormatFlag(show)
	cmd.AddCommand(list, show)
	return cmd
}

func (v *inventory[T]) show(a *cli.App, all []T, name string) error {
	i := slices.IndexFunc(all, func(one T) bool { return v.id(&one) == strings.TrimPrefix(name, "/") })
	if i < 0 {
		return cli.UsageError("tenon "+v.name+" list shows the valid names", "%s %q not found", v.name, name)
	}
	if a.JSON {
		return a.PrintJSON(all[i])
	}
	var b strings.Builder
	details := v.details(&all[i])
	for ; len(details) > 1; details = details[2:] {
		if details[1] != "" {
			fmt.Fprintf(&b, "%-12s %s\n", details[0], details[1])
		}
	}
	if text := details[0]; text != "" {
		fmt.Fprintf(&b, "\n%s\n", terminal.Visible(text))
	}
	return a.Print(b.String())
}

func agentCommand(a *cli.App) *cobra.Command {
	from := func(l *host.AgentInfo) string {
		out := Source(l.Plugin, l.Origin)
		if l.Configured && l.Plugin != "" {
			out += ", changed by the configuration"
		}
		return out
	}
	mode := func(l *host.AgentInfo) string {
		if l.Hidden {
			return terminal.OneLine(l.Mode) + ", hidden"
		}
		return terminal.OneLine(l.Mode)
	}
	return inventoryCommand(a, inventory[host.AgentInfo]{
		name: "agent", what: "agents",
		all: func(ctx context.Context, m *cli.Machine) []host.AgentInfo { return m.AgentInfos(ctx) },
		id:  func(l *host.AgentInfo) string { return l.Name },
		listing: cli.Listing[host.AgentInfo]{
			Empty: "no agents found; write one in .tenon/agents/NAME.md",
			Head:  []string{"agent", "mode", "from", "description"},
			Row: func(l *host.AgentInfo) []string {
				return []string{terminal.OneLine(l.Name), mode(l), from(l) + over(l.Replaces), terminal.OneLine(l.Description)}
			},
		},
		details: func(l *host.AgentInfo) []string {
			out := []string{"agent", terminal.OneLine(l.Name), "mode", mode(l), "from", from(l), "over", places(l.Replaces), "description", terminal.OneLine(l.Description)}
			if l.Model != nil {
				out = append(out, "model", terminal.OneLine(l.Model.String()))
			}
			if l.Steps > 0 {
				out = append(out, "steps", fmt.Sprint(l.Steps))
			}
			if l.Strict {
				out = append(out, "strict", "only agent."+terminal.OneLine(l.Name)+".permission can override what its rules deny or ask for")
			}
			for _, r := range l.Permission {
				out = append(out, "permission", view.RuleText(r))
			}
			return append(out, l.Prompt)
		},
	})
}

func commandCommand(a *cli.App) *cobra.Command {
	return inventoryCommand(a, inventory[host.CommandInfo]{
		name: "command", what: "commands",
		all: func(ctx context.Context, m *cli.Machine) []host.CommandInfo { return m.CommandInfos(ctx) },
		id:  func(l *host.CommandInfo) string { return l.Name },
		listing: cli.Listing[host.CommandInfo]{
			Empty: "no commands found; write one in .tenon/commands/NAME.md, or under command in tenon.json",
			Head:  []string{"command", "agent", "from", "description"},
			Row: func(l *host.CommandInfo) []string {
				return []string{"/" + terminal.OneLine(l.Name), terminal.OneLine(l.Agent), Source(l.Plugin, l.Origin) + over(l.Replaces), terminal.OneLine(l.Description)}
			},
		},
		details: func(l *host.CommandInfo) []string {
			subtask := ""
			if l.Subtask != nil {
				subtask = fmt.Sprint(*l.Subtask)
			}
			return []string{
				"command", "/" + terminal.OneLine(l.Name), "from", Source(l.Plugin, l.Origin), "over", places(l.Replaces),
				"description", terminal.OneLine(l.Description), "agent", terminal.OneLine(l.Agent), "model", terminal.OneLine(l.Model), "subtask", subtask, l.Template,
			}
		},
	})
}

func skillCommand(a *cli.App) *cobra.Command {
	return inventoryCommand(a, inventory[host.SkillInfo]{
		name: "skill", what: "skills",
		all: func(ctx context.Context, m *cli.Machine) []host.SkillInfo { return m.SkillInfos(ctx) },
		id:  func(l *host.SkillInfo) string { return l.Name },
		listing: cli.Listing[host.SkillInfo]{
			Empty: "no skills found; write one in .tenon/skills/NAME/SKILL.md",
			Head:  []string{"skill", "from", "description"},
			Row: func(l *host.SkillInfo) []string {
				return []string{terminal.OneLine(l.Name), Source(l.Plugin, l.Location) + over(l.Replaces), terminal.OneLine(l.Description)}
			},
		},
		details: func(l *host.SkillInfo) []string {
			return []string{
				"skill", terminal.OneLine(l.Name), "from", Source(l.Plugin, l.Location), "over", places(l.Replaces), "description", terminal.OneLine(l.Description), l.Body,
			}
		},
	})
}

// over returns the replaced definitions, for a column.
func over(replaces []string) string {
	if len(replaces) == 0 {
		return ""
	}
	return ", over " + places(replaces)
}

func places(list []string) string {
	out := make([]string, len(list))
	for i, place := range list {
		out[i] = terminal.OneLine(place)
	}
	return strings.Join(out, ", ")
}

// Source returns the source of a definition: its file, else its plugin. The origin that a third-party plugin states is shown with
// the plugin's name.
func Source(plugin, origin string) string {
	if own := cli.ShippedNames(); origin != "" && (plugin == "" || own[plugin]) {
		return terminal.OneLine(origin)
	}
	from := "plugin " + terminal.OneLine(plugin)
	if origin != "" {
		from += ", " + terminal.OneLine(origin)
	}
	return from
}
