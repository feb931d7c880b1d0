package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/hookpoint"
)

func (a *app) hooksCommand() *cobra.Command {
	var form, point string
	cmd := &cobra.Command{
		Use: "hooks", Short: "Show which plugins are called where, in which order",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPoint(&point); err != nil {
				return err
			}
			return a.withMachine(cmd.Context(), func(_ *workspace, m *machine) error {
				return a.listHooks(m.Hooks(), point, form)
			})
		},
	}
	format(cmd, &form)
	cmd.Flags().StringVar(&point, "point", "", "only the hooks at this point")
	return cmd
}

// checkPoint puts the point's own name in place of an alias.
func checkPoint(point *string) error {
	if *point == "" {
		return nil
	}
	info, ok := hookpoint.Of(*point)
	if !ok {
		var names []string
		for _, p := range hookpoint.All() {
			names = append(names, string(p.Point))
		}
		return usageError("the points are "+strings.Join(names, ", "), "hook point %q is unknown", *point)
	}
	*point = string(info.Point)
	return nil
}

func (a *app) listHooks(all []hooks.HookInfo, point, form string) error {
	list := []hooks.HookInfo{}
	for _, h := range all {
		if point == "" || string(h.Point) == point {
			list = append(list, h)
		}
	}
	if form == "json" {
		return a.writeJSON(list)
	}
	if len(list) == 0 {
		where := "at any point"
		if point != "" {
			where = "at " + point
		}
		a.screen.line("no plugin has a hook " + where)
		return nil
	}
	t := &table{}
	t.add("point", "", "plugin", "hook", "priority", "on error", "timeout", "reads", "writes")
	for _, h := range list {
		plugin := oneLine(h.Plugin)
		if h.Version != "" {
			plugin += " " + oneLine(h.Version)
		}
		if h.Quarantined != "" {
			plugin += " (quarantined: " + oneLine(h.Quarantined) + ")"
		}
		t.add(string(h.Point), fmt.Sprint(h.Position), plugin+" ("+string(h.Carrier)+")", oneLine(h.Hook), fmt.Sprint(h.Priority),
			string(h.OnError), h.Timeout.String(), fields(h.Reads), fields(h.Writes))
	}
	return a.writeTable(t)
}

// fields writes a list of JSON pointers; the empty one is the whole value.
func fields(pointers []string) string {
	if len(pointers) == 0 {
		return "-"
	}
	out := make([]string, len(pointers))
	for i, p := range pointers {
		if out[i] = oneLine(p); p == "" {
			out[i] = "(all)"
		}
	}
	return strings.Join(out, " ")
}
