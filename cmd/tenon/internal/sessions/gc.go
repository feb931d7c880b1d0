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

// rememberPrompts is how long the IDs of answered prompts are kept after the last change of a session.
const rememberPrompts = 30 * 24 * time.Hour

func gcCommand(a *cli.App) *cobra.Command {
	var dry bool
	var days int
	cmd := &cobra.Command{
		Use: "gc", Short: "Delete unused data from the session store",
		Long: `Delete unused data of all projects from the session store: large outputs that no message refers to, the IDs of prompts
that were answered long ago, and, with --archived-days N, sessions that were archived at least N days ago. Sessions in
use are skipped. The freed space is reused; the file does not shrink.`,
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			o := store.GC{DryRun: dry, Untouched: now.Add(-rememberPrompts).UnixMilli()}
			if cmd.Flags().Changed("archived-days") {
				if days < 0 {
					return cli.UsageError("pass 0 or a positive number", "invalid --archived-days %d", days)
				}
				o.Archived = now.AddDate(0, 0, -days).UnixMilli() + 1
			}
			return a.WithStore(cmd.Context(), func(_ *cli.Workspace, s store.Store) error {
				return collect(cmd.Context(), a, s, o)
			})
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be deleted, without deleting it")
	cmd.Flags().IntVar(&days, "archived-days", 0, "also delete sessions that were archived at least `N` days ago")
	return cmd
}

// collectedReport is the JSON output.
type collectedReport struct {
	DryRun   bool     `json:"dryRun"`
	Sessions []string `json:"sessions"`
	Outputs  int      `json:"outputs"`
	OutputKB int64    `json:"outputKB"`
	Prompts  int      `json:"prompts"`
	// Leftovers counts sessions that killed processes imported or deleted only in part. No listing shows them.
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
		t.Add("unfinished imports and deletions", fmt.Sprint(got.Leftovers), done)
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
		a.Screen.Line(view.Plural(got.Skipped, "session") + " in use skipped")
	}
	return nil
}
