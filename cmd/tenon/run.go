package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/chat"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/sdk"
)

func runCommand(a *cli.App) *cobra.Command {
	var f turn.Flags
	cmd := &cobra.Command{
		Use:   "run [flags] [prompt…]",
		Short: "Run one turn: from a prompt to the answer",
		Long: `Run one turn: from a prompt to the answer.

The prompt is made of the arguments and, when it is piped, of stdin. In the arguments @file and @dir/ attach
what they name, @agent asks for a subagent.

On a terminal the answer appears as it is written, and permissions are asked for. Otherwise stdout gets the
answer alone and what would have to be asked is refused, unless --auto allows it.`,
		Example: `  tenon run "fix the failing test"
  tenon run -c "now document it"
  git diff | tenon run "review this change"
  tenon run --format json --auto "update the changelog"`,
		RunE: func(cmd *cobra.Command, args []string) error { return runTurn(cmd.Context(), a, &f, args) },
	}
	a.FormatFlag(cmd)
	f.Register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.Command, "command", "", "run this command with the prompt as its arguments")
	flags.StringVar(&f.Schema, "schema", "", "file with a JSON schema that the answer must meet")
	flags.BoolVar(&f.Watch, "watch", false, "stay, take further prompts from stdin a line each, and load the plugins of --plugin anew when they change")
	return cmd
}

// runTurn runs one turn in a new or an older session.
func runTurn(ctx context.Context, a *cli.App, f *turn.Flags, args []string) error {
	signals, stop := turn.CatchSignals()
	defer stop()
	interactive := a.Screen.Answers && !a.JSON
	m, in, err := turn.Prepare(ctx, a, f, args, signals, interactive)
	if err != nil {
		return err
	}
	if f.Watch {
		return chat.WatchLines(ctx, a, m, f, signals, in)
	}
	t := &turn.Turn{
		App: a, Machine: m, Signals: signals, Quiet: f.Quiet,
		Begin: func(ctx context.Context) (*sdk.Session, error) { return turn.Address(ctx, a, m, f, in) },
		Do:    func(ctx context.Context) (*sdk.MessageWithParts, error) { return m.Prompt(ctx, *in) },
	}
	if interactive {
		t.Keys = terminal.NewKeyboard(a.In)
	}
	return t.RunAndClose(ctx)
}
