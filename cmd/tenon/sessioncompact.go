package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

func (a *app) compactCommand() *cobra.Command {
	var model, form string
	cmd := &cobra.Command{
		Use: "compact [session]", Short: "Summarise a session's conversation to make room; the originals stay stored",
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error { return a.compact(cmd.Context(), args, model, form) },
	}
	format(cmd, &form)
	cmd.Flags().StringVarP(&model, "model", "m", "", "model that summarises, as provider/model")
	return cmd
}

func (a *app) compact(ctx context.Context, args []string, model, form string) error {
	signals, stop := catchSignals()
	defer stop()
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.open(ctx, hostOptions{})
	if err != nil {
		return err
	}
	t := &oneTurn{a: a, m: m, signals: signals, format: form}
	id := ""
	t.begin = func(ctx context.Context) (*sdk.Session, error) {
		s, err := argumentSession(ctx, w, m.store, args)
		if err == nil {
			id = s.ID
		}
		return s, err
	}
	t.run = func(ctx context.Context) (*sdk.MessageWithParts, error) { return nil, m.Compact(ctx, id, model) }
	return t.driveAndClose(ctx)
}

func (a *app) uncompactCommand() *cobra.Command {
	return &cobra.Command{
		Use: "uncompact [session]", Short: "Take the latest summary out, so that the model gets the original messages again",
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error { return a.uncompact(cmd.Context(), args) },
	}
}

func (a *app) uncompact(ctx context.Context, args []string) (err error) {
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.open(ctx, hostOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(ctx)) }()
	s, err := argumentSession(ctx, w, m.store, args)
	if err != nil {
		return err
	}
	err = m.Uncompact(ctx, s.ID)
	if errors.Is(err, host.ErrNothing) {
		return fail(exitUsage, err, "tenon session compact makes one")
	}
	if err != nil {
		return err
	}
	a.screen.line("the latest summary of " + s.ID + " is taken out")
	return nil
}
