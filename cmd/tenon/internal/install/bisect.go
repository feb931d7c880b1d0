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
		Long: `Run a command repeatedly, each time with some plugins disabled, and name the plugin that makes it fail. The command fails
if its exit code is not 0; it must fail every time. Plugins are disabled only for these runs; required plugins stay enabled.`,
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

// bisection is a search for the plugin that makes a command fail.
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
	suspects := b.all
	for len(suspects) > 1 {
		half := len(suspects) / 2
		if fails, err = b.fails(ctx, suspects[:half]); err != nil {
			return err
		}
		if fails {
			suspects = suspects[:half]
		} else {
			suspects = suspects[half:]
		}
	}
	if !fails { // the last run was without the suspect
		if fails, err = b.fails(ctx, suspects); err != nil {
			return err
		}
	}
	if !fails {
		return cli.Fail(cli.ExitTurn, errors.New("no plugin makes the command fail alone"), "several do so together: disable one after another with tenon plugin disable")
	}
	b.app.Say("the command fails because of %s", suspects[0])
	return b.app.Print(suspects[0] + "\n")
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
