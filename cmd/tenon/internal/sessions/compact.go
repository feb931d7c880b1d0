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
		Use: "compact [session]", Short: "Summarise a session's conversation to make room; the originals stay stored",
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return compactSession(cmd.Context(), a, args, model)
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().StringVarP(&model, "model", "m", "", "model that summarises, as provider/model")
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
	t := &turn.Turn{App: a, Machine: m, Signals: signals}
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
		Use: "uncompact [session]", Short: "Take the latest summary out, so that the model gets the original messages again",
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error { return uncompactSession(cmd.Context(), a, args) },
	}
}

func uncompactSession(ctx context.Context, a *cli.App, args []string) (err error) {
	w, err := a.Configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.Open(ctx, cli.HostOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(ctx)) }()
	s, err := cli.ArgumentSession(ctx, w, m.Store, args)
	if err != nil {
		return err
	}
	err = m.Uncompact(ctx, s.ID)
	if errors.Is(err, host.ErrNothing) {
		return cli.Fail(cli.ExitUsage, err, "tenon session compact makes one")
	}
	if err != nil {
		return err
	}
	a.Screen.Line("the latest summary of " + s.ID + " is taken out")
	return nil
}
