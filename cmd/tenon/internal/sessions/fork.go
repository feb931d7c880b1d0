package sessions

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/sdk"
)

func forkCommand(a *cli.App) *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use: "fork [session]", Short: "Copy a session, or its messages up to a point, into a new one",
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithHost(cmd.Context(), args, func(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
				id, err := cli.FindMessage(ctx, m.Store, s.ID, at)
				if err != nil {
					return err
				}
				fork, err := m.Fork(ctx, s.ID, id)
				if err = a.WithoutDamage(err); err != nil {
					return err
				}
				return a.Show(fork, func() error {
					a.Screen.Line(fmt.Sprintf("forked from %s; continue it with tenon run -s; files are unchanged", s.ID))
					return a.Print(fork.ID + "\n")
				})
			})
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().StringVar(&at, "at", "", "copy only the messages before this `message` (ID or unique prefix)")
	return cmd
}
