package install

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/plugins"
)

func bisectCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "bisect -- COMMAND [ARG...]", Short: "Find the plugin that makes a command fail", Args: cli.Args(1, -1, "a command"),
		Long: `Run a command repeatedly, each time with some plugins disabled, and name the plugins that make it fail. The command
fails if its exit code is not 0. Plugins are disabled only for these runs; required plugins stay enabled.`,
		Example: `  tenon plugin bisect -- tenon run "list the files"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var names []string
			err := a.WithExtensions(cmd.Context(), nil, func(_ *cli.Workspace, s *extensions.Set) error {
				for _, c := range s.In(plugins.StateReady) {
					if c.Item != nil && !c.Item.Required {
						names = append(names, c.Name)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if len(names) == 0 {
				return cli.UsageError("tenon plugin list shows the plugins; required ones, MCP servers and command hooks stay on", "no plugin can be disabled")
			}
			b := &bisection{app: a, command: args, all: names}
			return b.run(cmd.Context())
		},
	}
}

// bisection is a search for plugins that make a command fail.
type bisection struct {
	app     *cli.App
	command []string
	all     []string // plugins that can be disabled
}

func (b *bisection) run(ctx context.Context) error {
	fails, err := b.fails(ctx, b.all)
	if err != nil {
		return err
	}
	if !fails {
		return cli.UsageError("name a command that fails", "the command succeeds with all plugins")
	}
	if fails, err = b.fails(ctx, nil); err != nil {
		return err
	}
	if fails {
		return cli.Fail(cli.ExitTurn, errors.New("the command fails without these plugins too"), "the cause is elsewhere: run tenon doctor; required plugins, MCP servers and command hooks stayed on")
	}
	guilty, err := reduce(b.all, func(enabled []string) (bool, error) { return b.fails(ctx, enabled) })
	if err != nil {
		return err
	}
	text := "the command fails because of " + terminal.Visible(guilty[0])
	if len(guilty) > 1 {
		text = "the command fails if these plugins are enabled together: " + terminal.Visible(strings.Join(guilty, ", "))
	}
	b.app.Screen.Line(text)
	return b.app.Print(strings.Join(guilty, "\n") + "\n")
}

// fails runs the command with only some of the plugins, and reports whether it fails.
func (b *bisection) fails(ctx context.Context, enabled []string) (bool, error) {
	disabled := slices.DeleteFunc(slices.Clone(b.all), func(name string) bool { return slices.Contains(enabled, name) })
	cmd := exec.CommandContext(ctx, b.command[0], b.command[1:]...)
	child.Prepare(cmd)
	cmd.Env = append(slices.Clone(b.app.Env), extensions.WithoutVariable+"="+strings.Join(disabled, ","))
	dir, err := b.app.Directory()
	if err != nil {
		return false, err
	}
	cmd.Dir = dir
	err = cmd.Run()
	if err != nil && (!errors.As(err, new(*exec.ExitError)) || ctx.Err() != nil) {
		return false, cli.UsageError("write a program and its arguments after --", "run %s: %w", b.command[0], errors.Join(err, ctx.Err()))
	}
	result := "succeeds"
	if err != nil {
		result = "fails (" + err.Error() + ")"
	}
	b.app.Screen.Line(fmt.Sprintf("%s with %s", result, terminal.Visible(list(enabled))))
	return err != nil, nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "no plugin"
	}
	return strings.Join(names, ", ")
}

// reduce returns a smallest part of names for which fails holds: without any of its names it does not. fails must hold for all names, and
// not for none. This is the algorithm ddmin, see A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input, 2002.
func reduce(names []string, fails func([]string) (bool, error)) ([]string, error) {
	for parts := 2; len(names) > 1; {
		size := (len(names) + parts - 1) / parts
		smaller := []string(nil)
		for _, rest := range []bool{false, true} { // one part alone, then all but one part
			for at := 0; at < len(names) && smaller == nil && (!rest || parts > 2); at += size {
				end := min(at+size, len(names))
				try := slices.Clone(names[at:end])
				if rest {
					try = slices.Concat(names[:at], names[end:])
				}
				failed, err := fails(try)
				if err != nil {
					return nil, err
				}
				if failed {
					smaller = try
				}
			}
		}
		switch {
		case smaller != nil && len(smaller) <= size:
			names, parts = smaller, 2
		case smaller != nil:
			names, parts = smaller, max(parts-1, 2)
		case parts >= len(names):
			return names, nil
		default:
			parts = min(2*parts, len(names))
		}
	}
	return names, nil
}
