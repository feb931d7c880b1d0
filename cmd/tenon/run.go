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

// serverWait is the longest wait for MCP servers that have never been started. Each has its own timeout, 30 seconds by default, which
// users may raise for calls that take hours.
const serverWait = 2 * time.Minute

func runCommand(a *cli.App) cli.Command {
	var f turn.Flags
	var noWait bool
	return cli.Command{
		Run: func(cmd *cobra.Command, args []string) error {
			if !noWait {
				f.Wait = serverWait
			}
			return runTurn(cmd.Context(), a, &f, args)
		},
		Flags: cli.Flags{"command": &f.Command, "schema": &f.Schema, "no-wait": &noWait, "watch": &f.Watch},
		More:  f.Register,
	}
}

// runTurn runs one turn in a new or an existing session.
func runTurn(ctx context.Context, a *cli.App, f *turn.Flags, args []string) error {
	interactive := a.Screen.Answers && !a.JSON
	m, in, err := turn.Prepare(ctx, a, f, args, interactive)
	if err != nil {
		return err
	}
	signals, stop := a.TakeSignals()
	defer stop()
	if f.Watch {
		return chat.WatchLines(ctx, m, f, signals, in)
	}
	t := &turn.Turn{
		Machine: m, Signals: signals, Quiet: f.Quiet, Raw: f.Raw, Fresh: f.Session == "" && !f.Resume,
		Begin: func(ctx context.Context) (*sdk.Session, error) { return turn.Address(ctx, m, f, in) },
		Do:    func(ctx context.Context, _ string) (*sdk.MessageWithParts, error) { return m.Prompt(ctx, *in) },
	}
	if interactive {
		t.Keys = terminal.NewKeyboard(a.In)
	}
	return t.RunAndClose(ctx)
}
