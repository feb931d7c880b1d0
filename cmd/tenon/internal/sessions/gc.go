package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
)

// rememberPrompts is how long a session must be left alone until the identifiers of its answered prompts are forgotten.
const rememberPrompts = 30 * 24 * time.Hour

func gcCommand(a *cli.App) *cobra.Command {
	var dry bool
	var days int
	cmd := &cobra.Command{
		Use: "gc", Short: "Remove from the session store what nobody needs any more",
		Long: `Remove from the session store, of all projects, what nobody needs any more: large outputs that no message mentions, the
memory of prompts that were answered long ago, and with --archived-days N the sessions that were archived at least N days
ago. Sessions in use are left alone. The room is used again; the file itself does not shrink.`,
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			o := store.GC{DryRun: dry, Untouched: now.Add(-rememberPrompts).UnixMilli()}
			if cmd.Flags().Changed("archived-days") {
				if days < 0 {
					return cli.UsageError("pass a number from 0 on", "--archived-days %d is no number of days", days)
				}
				o.Archived = now.AddDate(0, 0, -days).UnixMilli() + 1
			}
			return a.WithStore(cmd.Context(), func(_ *cli.Workspace, s store.Store) error {
				return collect(cmd.Context(), a, s, o)
			})
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be removed, remove nothing")
	cmd.Flags().IntVar(&days, "archived-days", 0, "delete the sessions that were archived at least so many days ago")
	return cmd
}

// collectedReport is the JSON form of what was removed.
type collectedReport struct {
	DryRun   bool     `json:"dryRun"`
	Sessions []string `json:"sessions"`
	Outputs  int      `json:"outputs"`
	OutputKB int64    `json:"outputKB"`
	Prompts  int      `json:"prompts"`
	// Leftovers are what killed processes had imported or deleted by half; no listing has them.
	Leftovers int `json:"leftovers"`
	InUse     int `json:"inUse"`
}

func collect(ctx context.Context, a *cli.App, s store.Store, o store.GC) error {
	got, err := s.Collect(ctx, o)
	if err != nil {
		return err
	}
	kb := (got.BlobBytes + 1023) / 1024
	if a.JSON {
		return a.PrintJSON(collectedReport{o.DryRun, append([]string{}, got.Sessions...), got.Blobs, kb, got.Prompts, got.Leftovers, got.Skipped})
	}
	done := "removed"
	if o.DryRun {
		done = "would be removed"
	}
	t := &view.Table{}
	t.Add("archived sessions", fmt.Sprint(len(got.Sessions)), done)
	t.Add("large outputs", fmt.Sprint(got.Blobs), fmt.Sprintf("%s, %d KB", done, kb))
	t.Add("answered prompts", fmt.Sprint(got.Prompts), done)
	if got.Leftovers > 0 {
		t.Add("half-done imports and deletions", fmt.Sprint(got.Leftovers), done)
	}
	if err := a.PrintTable(t); err != nil {
		return err
	}
	for _, id := range got.Sessions {
		if err := a.Print("  " + terminal.OneLine(id) + "\n"); err != nil {
			return err
		}
	}
	if got.Skipped > 0 {
		a.Screen.Line(view.Plural(got.Skipped, "session") + " in use left alone")
	}
	return nil
}
