package sessions

import (
	"context"
	"fmt"
	"strings"

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
		Use: "export [session]", Short: "Write a session as JSON, the latest one by default",
		Long: `Write a session as JSON, in the form of opencode's export; tenon session import reads it.

Keys in the configuration and values of environment variables that hold keys by their names (…_KEY, …_TOKEN, …_SECRET,
…_PASSWORD, …_PASSWD) are masked. --redact hides all that was said: texts, paths and what tools got and gave are replaced by their length and a hash that can be
compared within the file alone.`,
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := a.Configured(cmd.Context()); err != nil { // knows which values are secret
				return err
			}
			return a.WithSession(cmd.Context(), args, func(_ *cli.Workspace, s store.Store, info *sdk.Session) error {
				return exportSession(cmd.Context(), a, s, info, o)
			})
		},
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", "", "write to this file instead of stdout")
	cmd.Flags().BoolVar(&o.full, "full", false, "with the whole of large tool outputs, the task list and the sessions of subagents")
	cmd.Flags().BoolVar(&o.redact, "redact", false, "without texts, paths and what tools got and gave")
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
	text, err := indented(f)
	if err != nil {
		return err
	}
	text = a.Mask.Clean(text)
	if o.file == "" {
		return a.Print(text)
	}
	if err := atomicfile.Write(o.file, []byte(text), atomicfile.Options{Sync: true}); err != nil {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("export to %q: %w", o.file, cli.Cause(err)), "choose another file with -o, or leave -o out and redirect stdout")
	}
	a.Screen.Line(fmt.Sprintf("%s with %s is in %s", info.ID, view.Plural(len(f.Messages), "message"), terminal.Visible(o.file)))
	return nil
}

// indented returns the value as writeJSON would print it.
func indented(v any) (string, error) {
	var b strings.Builder
	enc := view.NewEncoder(&b) // without escapes of HTML: a secret with an & would not be found
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.String(), err
}
