package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/sdk"
)

func (a *app) forkCommand() *cobra.Command {
	var form, at string
	cmd := &cobra.Command{
		Use: "fork [session]", Short: "Make a new session that begins with the messages of another one",
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), args, func(ctx context.Context, m *machine, s *sdk.Session) error {
				id, err := findMessage(ctx, m.store, s.ID, at)
				if err != nil {
					return err
				}
				fork, err := m.Fork(ctx, s.ID, id)
				if err = a.withoutDamage(err); err != nil {
					return err
				}
				if form == "json" {
					return a.writeJSON(fork)
				}
				a.screen.line(fmt.Sprintf("forked from %s; tenon run -s goes on with it, files are as they were", s.ID))
				return a.write(fork.ID + "\n")
			})
		},
	}
	format(cmd, &form)
	cmd.Flags().StringVar(&at, "at", "", "begin with the messages before this one, named by its id or the beginning of it")
	return cmd
}
