package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/sdk"
)

// inventory describes the commands "list" and "show" for one kind of contribution: agents, commands or skills.
type inventory struct {
	name   string // singular
	column string // name of an additional column of the list; empty: none
	empty  string // printed instead of an empty list
	all    func(ctx context.Context, m *cli.Machine) []item
}

// item is one entry of an inventory. Only from and details are already safe for a terminal.
type item struct {
	value             any // the JSON output
	name, column      string
	from, description string
	details           []string // pairs of label and value
	text              string
}

// MarshalJSON implements json.Marshaler.
func (i item) MarshalJSON() ([]byte, error) {
	text, err := cli.JSON(i.value)
	return []byte(text), err
}

func (v *inventory) list(ctx context.Context, m *cli.Machine, _ []string) error {
	cells := func(name, column, from, description string) []string {
		if v.column == "" {
			return []string{name, from, description}
		}
		return []string{name, column, from, description}
	}
	return cli.List(m.Workspace.App, v.all(ctx, m), v.empty, cells(v.name, v.column, "from", "description"), func(i *item) []string {
		return cells(i.name, i.column, i.from, i.description)
	})
}

func (v *inventory) show(ctx context.Context, m *cli.Machine, args []string) error {
	a, all, name := m.Workspace.App, v.all(ctx, m), args[0]
	at := slices.IndexFunc(all, func(i item) bool { return strings.TrimPrefix(i.name, "/") == strings.TrimPrefix(name, "/") })
	if at < 0 {
		return cli.UsageError("tenon "+v.name+" list shows the valid names", "%s %q not found", v.name, name)
	}
	i := &all[at]
	var b strings.Builder
	details := []string{
		v.name, terminal.OneLine(i.name), v.column, terminal.OneLine(i.column), "from", i.from, "description", terminal.OneLine(i.description),
	}
	var fields map[string]json.RawMessage
	text, _ := json.Marshal(i)
	_ = json.Unmarshal(text, &fields) // an object
	for _, name := range []string{"variant", "temperature", "top_p", "steps", "options", "subtask"} {
		details = append(details, name, terminal.OneLine(strings.Trim(string(fields[name]), `"`)))
	}
	for pair := range slices.Chunk(append(details, i.details...), 2) {
		if pair[1] != "" {
			fmt.Fprintf(&b, "%-12s %s\n", pair[0], pair[1])
		}
	}
	if i.text != "" {
		fmt.Fprintf(&b, "\n%s\n", terminal.Visible(i.text))
	}
	return a.Show(i, func() error { return a.Print(b.String()) })
}

// inventories returns all inventories.
func inventories() []*inventory {
	return []*inventory{
		{name: "agent", column: "mode", empty: "no agents found; write one in .tenon/agents/NAME.md", all: agents},
		{name: "command", column: "agent", empty: "no commands found; write one in .tenon/commands/NAME.md, or under command in tenon.json", all: commands},
		{name: "skill", empty: "no skills found; write one in .tenon/skills/NAME/SKILL.md", all: skills},
	}
}

func agents(ctx context.Context, m *cli.Machine) (list []item) {
	configured := m.Config().Agent
	for _, l := range m.AgentInfos(ctx) {
		l.Permission = slices.Concat(l.Permission, configured[l.Name].Permission) // in the order in which they count
		i := item{value: l, name: l.Name, column: l.Mode, from: sourceOf(l.Plugin, l.Origin), description: l.Description, text: l.Prompt}
		if l.Configured && l.Plugin != "" {
			i.from += ", changed by the configuration"
		}
		if l.Hidden {
			i.column += ", hidden"
		}
		if l.Model != nil {
			i.details = append(i.details, "model", terminal.OneLine(l.Model.String()))
		}
		if l.Strict {
			i.details = append(i.details, "strict", "only agent."+terminal.OneLine(l.Name)+".permission can override what its rules deny or ask for")
		}
		for _, r := range l.Permission {
			i.details = append(i.details, "permission", view.RuleText(r))
		}
		list = append(list, i)
	}
	return list
}

func commands(ctx context.Context, m *cli.Machine) []item {
	return cli.Mapped(m.CommandInfos(ctx), func(l *host.CommandInfo) item {
		return item{
			value: l, name: "/" + l.Name, column: l.Agent, from: sourceOf(l.Plugin, l.Origin), description: l.Description,
			details: []string{"model", terminal.OneLine(l.Model)}, text: l.Template,
		}
	})
}

func skills(ctx context.Context, m *cli.Machine) []item {
	rules, err := m.Rules("")
	return cli.Mapped(m.SkillInfos(ctx), func(l *generation.SkillInfo) item {
		i := item{value: l, name: l.Name, from: sourceOf(l.Plugin, l.Location), description: l.Description, text: l.Body}
		if l.Manual {
			i.from += ", manual"
		}
		if err == nil && rules.Decide("skill", l.Name).Action == sdk.ActionDeny {
			i.from += ", denied by a rule"
		}
		return i
	})
}

// sourceOf returns the source of a definition: its file, else its plugin. The origin that a third-party plugin states is shown with
// the plugin's name.
func sourceOf(plugin, origin string) string {
	if origin != "" && (plugin == "" || cli.IsShipped(plugin)) {
		return terminal.OneLine(origin)
	}
	from := "plugin " + terminal.OneLine(plugin)
	if origin != "" {
		from += ", " + terminal.OneLine(origin)
	}
	return from
}
