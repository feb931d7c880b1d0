package inspect

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/hookpoint"
)

func hooksCommand(a *cli.App) *cobra.Command {
	var point string
	cmd := &cobra.Command{
		Use: "hooks", Short: "List the hooks of all plugins in the order they are called",
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPoint(&point); err != nil {
				return err
			}
			return a.WithMachine(cmd.Context(), func(m *cli.Machine) error {
				return ListHooks(a, m.Hooks(), point)
			})
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().StringVar(&point, "point", "", "list only the hooks at this `point`")
	return cmd
}

// checkPoint replaces an alias by the name of the point.
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
		return cli.UsageError("the points are "+strings.Join(names, ", "), "unknown hook point %q", *point)
	}
	*point = string(info.Point)
	return nil
}

// ListHooks prints hooks, those of all points if point is empty.
func ListHooks(a *cli.App, all []hooks.HookInfo, point string) error {
	var list []hooks.HookInfo
	for _, h := range all {
		if point == "" || string(h.Point) == point {
			list = append(list, h)
		}
	}
	return cli.List(a, list, cli.Listing[hooks.HookInfo]{
		Empty: "no plugin has a hook at " + cmp.Or(point, "any point"),
		Head:  []string{"point", "", "plugin", "hook", "priority", "on error", "timeout", "reads", "writes"},
		Row: func(h *hooks.HookInfo) []string {
			plugin := terminal.OneLine(h.Plugin)
			if h.Version != "" {
				plugin += " " + terminal.OneLine(h.Version)
			}
			if h.Quarantined != "" {
				plugin += " (quarantined: " + terminal.OneLine(h.Quarantined) + ")"
			}
			return []string{
				string(h.Point), fmt.Sprint(h.Position), plugin + " (" + string(h.Carrier) + ")", terminal.OneLine(h.Hook), fmt.Sprint(h.Priority),
				string(h.OnError), h.Timeout.String(), fields(h.Reads), fields(h.Writes),
			}
		},
	})
}

// fields formats a list of JSON pointers. The empty pointer is the whole value.
func fields(pointers []string) string {
	if len(pointers) == 0 {
		return "-"
	}
	out := make([]string, len(pointers))
	for i, p := range pointers {
		if out[i] = terminal.OneLine(p); p == "" {
			out[i] = "(all)"
		}
	}
	return strings.Join(out, " ")
}
