package install

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/plugins"
)

func (g *group) bisect(cmd *cobra.Command, args []string) error {
	var names []string
	err := g.WithExtensions(cmd.Context(), nil, func(_ *cli.Workspace, s *extensions.Set) error {
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
	b := &bisection{app: g.App, command: args, all: names}
	culprit, err := b.run(cmd.Context())
	if err = cmp.Or(b.err, err); err != nil {
		return err
	}
	g.Say("the command fails because of %s", culprit)
	return g.Print(culprit + "\n")
}

// bisection is a search for the plugin that makes a command fail.
type bisection struct {
	app     *cli.App
	command []string
	all     []string // plugins that can be disabled
	err     error    // the command could not be run, so the search has no valid result
}

func (b *bisection) run(ctx context.Context) (culprit string, err error) {
	if !b.fails(ctx, b.all) {
		return "", cli.UsageError("name a command that fails", "the command succeeds with all plugins")
	}
	if b.fails(ctx, nil) {
		return "", cli.Fail(cli.ExitTurn, errors.New("the command fails without these plugins too"), "the cause is elsewhere: run tenon doctor; required plugins, MCP servers and command hooks stayed on")
	}
	suspects, fails := b.all, false
	for len(suspects) > 1 {
		half := len(suspects) / 2
		if fails = b.fails(ctx, suspects[:half]); fails {
			suspects = suspects[:half]
		} else {
			suspects = suspects[half:]
		}
	}
	if !fails && !b.fails(ctx, suspects) { // the last run was without the suspect
		return "", cli.Fail(cli.ExitTurn, errors.New("no plugin makes the command fail alone"), "several do so together: disable one after another with tenon plugin disable")
	}
	return suspects[0], nil
}

// fails runs the command with only some of the plugins, and reports whether it fails. It does nothing after an error.
func (b *bisection) fails(ctx context.Context, enabled []string) bool {
	if b.err != nil {
		return false
	}
	disabled := slices.DeleteFunc(slices.Clone(b.all), func(name string) bool { return slices.Contains(enabled, name) })
	cmd := exec.CommandContext(ctx, b.command[0], b.command[1:]...)
	child.Prepare(cmd)
	cmd.Dir = "." // corrects PWD after --dir
	cmd.Env = append(slices.Clone(b.app.Env), extensions.WithoutVariable+"="+strings.Join(disabled, ","))
	err := cmd.Run()
	if err != nil && (!errors.As(err, new(*exec.ExitError)) || ctx.Err() != nil) {
		b.err = cli.UsageError("write a program and its arguments after --", "run %s: %w", b.command[0], errors.Join(err, ctx.Err()))
		return false
	}
	result := "succeeds"
	if err != nil {
		result = "fails (" + err.Error() + ")"
	}
	b.app.Say("%s with %s", result, cmp.Or(strings.Join(enabled, ", "), "no plugin"))
	return err != nil
}
