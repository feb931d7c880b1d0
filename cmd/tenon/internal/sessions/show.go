package sessions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// shownMessages is the default number of messages of "session show".
const shownMessages = 20

func showCommand(a *cli.App) *cobra.Command {
	var limit int
	var all bool
	cmd := &cobra.Command{
		Use: "show [session]", Short: "Print the end of a session (default: the latest)",
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithSession(cmd.Context(), args, func(w *cli.Workspace, s store.Store, info *sdk.Session) error {
				page := store.Page{Limit: limit}
				if all {
					page.Limit = 0
				} else if limit < 1 {
					return cli.UsageError("pass a positive number, or --all", "invalid -n %d", limit)
				}
				return showSession(cmd.Context(), a, w, s, info, page)
			})
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", shownMessages, "print at most `N` messages")
	cmd.Flags().BoolVar(&all, "all", false, "print the whole conversation")
	return cmd
}

func showSession(ctx context.Context, a *cli.App, w *cli.Workspace, s store.Store, info *sdk.Session, page store.Page) error {
	if info.Revert != nil { // reverted messages are not shown
		page.Before = info.Revert.MessageID
	}
	messages, err := s.Messages(ctx, info.ID, page)
	if err = a.WithoutDamage(err); err != nil {
		return err
	}
	c := a.Screen.ForStdout()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", c.Paint(terminal.Bold, terminal.OneLine(info.Title)), c.Paint(terminal.Dim, fmt.Sprintf(
		"%s · %s · %s · %s tokens · %s", info.ID, terminal.Visible(info.Directory), time.UnixMilli(info.Time.Updated).Format(time.DateTime), view.Count(info.Tokens.Sum()), view.Money(info.Cost))))
	if page.Limit > 0 && len(messages) == page.Limit {
		fmt.Fprintf(&b, "%s\n", c.Paint(terminal.Dim, fmt.Sprintf("the latest %d messages; --all prints all", page.Limit)))
	}
	for i := range messages {
		view.ShowMessage(c, &b, &messages[i], info.Directory)
	}
	if info.Revert != nil {
		fmt.Fprintf(&b, "\n%s\n", c.Paint(terminal.Dim, "the following messages were reverted; tenon session unrevert restores it until the next prompt"))
	}
	if err := checkOutputs(ctx, a, s, messages); err != nil {
		return err
	}
	todos, err := s.Todos(ctx, info.ID)
	if err = a.WithoutDamage(err); err != nil {
		return err
	}
	if len(todos) > 0 {
		fmt.Fprintf(&b, "\n%s\n", view.TodoLine(c, todos))
	}
	return a.Print(b.String())
}

// checkOutputs reports damaged or missing outputs of the shown calls.
func checkOutputs(ctx context.Context, a *cli.App, s store.Store, messages []sdk.MessageWithParts) error {
	for i := range messages {
		for _, p := range messages[i].Parts {
			t, ok := p.(*sdk.ToolPart)
			if !ok || store.Output(t) == "" {
				continue
			}
			_, err := s.Blob(ctx, store.Output(t))
			if err = a.WithoutDamage(store.OutputDamage(t, err)); err != nil {
				return err
			}
		}
	}
	return nil
}
