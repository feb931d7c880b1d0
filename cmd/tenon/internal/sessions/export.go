package sessions

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/transfer"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/sdk"
)

type exportOptions struct {
	file         string
	full, redact bool
}

func exportCommand(a *cli.App) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use: "export [session]", Short: "Export a session as JSON (default: the latest)",
		Long: `Export a session as JSON, in the format of opencode's export. tenon session import reads it.

Keys in the configuration and in environment variables named …_KEY, …_TOKEN, …_SECRET, …_PASSWORD or …_PASSWD are
masked. With --redact, the length and a hash replace all texts, paths, and tool inputs and outputs; equal hashes mean
equal content, within one file only.`,
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := a.Configured(cmd.Context()); err != nil { // loads the secrets to mask
				return err
			}
			return a.WithSession(cmd.Context(), args, func(_ *cli.Workspace, s store.Store, info *sdk.Session) error {
				return exportSession(cmd.Context(), a, s, info, o)
			})
		},
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", "", "write to this `file` instead of stdout")
	cmd.Flags().BoolVar(&o.full, "full", false, "include complete large tool outputs, the task list and the subagents' sessions")
	cmd.Flags().BoolVar(&o.redact, "redact", false, "leave out texts, paths, and tool inputs and outputs")
	return cmd
}

func exportSession(ctx context.Context, a *cli.App, s store.Store, info *sdk.Session, o exportOptions) error {
	f, err := transfer.Export(ctx, s, info, o.full)
	if err = a.WithoutDamage(err); err == nil && o.redact {
		f, err = f.Redact()
	}
	if err != nil {
		return err
	}
	text, err := cli.JSON(f)
	if err != nil {
		return err
	}
	text = a.Mask.Clean(text)
	if o.file == "" {
		return a.Print(text)
	}
	if err := atomicfile.Write(o.file, []byte(text), atomicfile.Options{Sync: true}); err != nil {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("export to %q: %w", o.file, cli.Cause(err)), "choose another file with -o, or omit -o and redirect stdout")
	}
	a.Screen.Line(fmt.Sprintf("exported %s with %s to %s", info.ID, view.Plural(len(f.Messages), "message"), terminal.Visible(o.file)))
	return nil
}
