package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/chat"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/sdk"
)

// serverWait is the longest wait for MCP servers that were never started before. Each is waited for until its own timeout, 30 seconds by
// default; users may raise that for calls that take hours.
const serverWait = 2 * time.Minute

func runCommand(a *cli.App) *cobra.Command {
	var f turn.Flags
	var noWait bool
	cmd := &cobra.Command{
		Use:   "run [flags] [prompt…]",
		Short: "Run a prompt and print the answer",
		Long: `Run a prompt and print the answer.

The prompt consists of the arguments and of stdin, if text is piped in. In the arguments, @file and @dir/ attach files
and directories, and @agent calls a subagent. Quote a path with spaces, as in @"my notes.md".

On a terminal, the answer is rendered from Markdown as it arrives (--raw prints it unchanged), and tenon asks before it
does anything that needs your permission. Otherwise, only the answer is written to stdout, unchanged, and actions that
need permission are refused unless --auto allows them.`,
		Example: `  tenon run "fix the failing test"
  tenon run -c "now document it"
  git diff | tenon run "review this change"
  tenon run --format json --auto "update the changelog"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !noWait {
				f.Wait = serverWait
			}
			return runTurn(cmd.Context(), a, &f, args)
		},
	}
	f.Register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.Command, "command", "", "run the `command` of this name, with the prompt as its arguments")
	flags.StringVar(&f.Schema, "schema", "", "answer with JSON that matches the schema in this `file`")
	flags.BoolVar(&noWait, "no-wait", false, "do not wait for MCP servers that were never started before")
	flags.BoolVar(&f.Watch, "watch", false, "keep running: read one prompt per line from stdin, and reload --plugin plugins when they change")
	return a.FormatFlag(cmd)
}

// runTurn runs one turn in a new or an existing session.
func runTurn(ctx context.Context, a *cli.App, f *turn.Flags, args []string) error {
	signals, stop := a.TakeSignals()
	defer stop()
	interactive := a.Screen.Answers && !a.JSON
	m, in, err := turn.Prepare(ctx, a, f, args, signals, interactive)
	if err != nil {
		return err
	}
	if f.Watch {
		return chat.WatchLines(ctx, m, f, signals, in)
	}
	t := &turn.Turn{
		Machine: m, Signals: signals, Quiet: f.Quiet, Raw: f.Raw, Fresh: f.Session == "" && !f.Resume,
		Begin: func(ctx context.Context) (*sdk.Session, error) { return turn.Address(ctx, m, f, in) },
		Do:    func(ctx context.Context) (*sdk.MessageWithParts, error) { return m.Prompt(ctx, *in) },
	}
	if interactive {
		t.Keys = terminal.NewKeyboard(a.In)
	}
	return t.RunAndClose(ctx)
}
