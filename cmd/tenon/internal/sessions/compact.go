package sessions

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

func compactCommand(a *cli.App) *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use: "compact [session]", Short: "Summarize a session to free up context; the original messages are kept",
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return compactSession(cmd.Context(), a, args, model)
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().StringVarP(&model, "model", "m", "", "model that writes the summary, as `provider/model`")
	return cmd
}

func compactSession(ctx context.Context, a *cli.App, args []string, model string) error {
	signals, stop := turn.CatchSignals()
	defer stop()
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.Open(ctx, cli.HostOptions{})
	if err != nil {
		return err
	}
	t := &turn.Turn{Machine: m, Signals: signals}
	id := ""
	t.Begin = func(ctx context.Context) (*sdk.Session, error) {
		s, err := cli.ArgumentSession(ctx, w, m.Store, args)
		if err == nil {
			id = s.ID
		}
		return s, err
	}
	t.Do = func(ctx context.Context) (*sdk.MessageWithParts, error) { return nil, m.Compact(ctx, id, model) }
	return t.RunAndClose(ctx)
}

func uncompactCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "uncompact [session]", Short: "Remove the latest summary, so that the model sees the original messages again",
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithHost(cmd.Context(), args, func(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
				err := m.Uncompact(ctx, s.ID)
				if errors.Is(err, host.ErrNothing) {
					return cli.Fail(cli.ExitUsage, err, "tenon session compact creates one")
				}
				if err == nil {
					a.Screen.Line("removed the latest summary of " + s.ID)
				}
				return err
			})
		},
	}
}
