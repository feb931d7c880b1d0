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

// Command returns "tenon session".
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "session", Aliases: []string{"sessions"}, Short: "Manage stored sessions"}
	cli.Group(cmd)
	cmd.AddCommand(listCommand(a), showCommand(a), deleteCommand(a), compactCommand(a), uncompactCommand(a))
	cmd.AddCommand(revertCommand(a), unrevertCommand(a), diffCommand(a), forkCommand(a))
	cmd.AddCommand(searchCommand(a), exportCommand(a), importCommand(a), renameCommand(a), archiveCommand(a), unarchiveCommand(a), gcCommand(a), repairCommand(a))
	return cmd
}

func listCommand(a *cli.App) *cobra.Command {
	var limit int
	var all, archived bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List this project's sessions, latest first",
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithStore(cmd.Context(), func(w *cli.Workspace, s store.Store) error {
				return listSessions(cmd.Context(), a, w, s, limit, all, archived)
			})
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "list at most `N` sessions")
	cmd.Flags().BoolVar(&all, "all", false, "list the sessions of all projects")
	cmd.Flags().BoolVar(&archived, "archived", false, "also list archived sessions")
	return cmd
}

func listSessions(ctx context.Context, a *cli.App, w *cli.Workspace, s store.Store, limit int, all, archived bool) error {
	if limit < 1 {
		return cli.UsageError("pass a positive number", "invalid -n %d", limit)
	}
	q := store.Query{Limit: limit, Archived: archived}
	if !all {
		q.ProjectID, q.Directory = w.Scope()
	}
	if a.JSON {
		list, err := s.Sessions(ctx, q)
		if err = a.WithoutDamage(err); err != nil {
			return err
		}
		return a.PrintJSON(append([]sdk.Session{}, list...))
	}
	list, err := s.List(ctx, q)
	if err = a.WithoutDamage(err); err != nil {
		return err
	}
	now := time.Now()
	return cli.List(a, list, cli.Listing[store.Listed]{
		Empty: noSessions(all, archived),
		Row: func(info *store.Listed) []string {
			cells := []string{info.ID, view.Ago(info.Updated, now), view.Money(info.Cost)}
			if all {
				cells = append(cells, terminal.OneLine(info.Directory))
			}
			title := terminal.OneLine(info.Title)
			if info.Archived != 0 {
				title += " (archived)"
			}
			return append(cells, title)
		},
	})
}

// noSessions returns the message for an empty list, with the flags that show more.
func noSessions(all, archived bool) string {
	var others []string
	if !all {
		others = append(others, "--all includes other projects")
	}
	if !archived {
		others = append(others, "--archived includes archived ones")
	}
	return strings.Join(append([]string{"no sessions here yet; tenon run starts one"}, others...), ", ")
}

func deleteCommand(a *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete session…", Aliases: []string{"rm"}, Short: "Delete sessions and their subagents' sessions",
		Args: cli.Args(1, -1, "a session ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithStore(cmd.Context(), func(_ *cli.Workspace, s store.Store) error {
				return deleteSessions(cmd.Context(), a, s, args, yes)
			})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

func deleteSessions(ctx context.Context, a *cli.App, s store.Store, ids []string, yes bool) error {
	var list []*sdk.Session
	for _, id := range ids {
		info, err := cli.FindSession(ctx, s, id)
		if err = a.WithoutDamage(err); err != nil {
			return err
		}
		list = append(list, info)
	}
	for _, info := range list {
		if !yes {
			ok, err := a.Confirm(fmt.Sprintf("delete %s (%s)? This cannot be undone. [y/N] ", info.ID, terminal.OneLine(info.Title)))
			if err != nil {
				return err
			}
			if !ok {
				a.Screen.Line(info.ID + " was kept")
				continue
			}
		}
		if err := s.Delete(ctx, info.ID); err != nil {
			return err
		}
		a.Screen.Line(info.ID + " was deleted")
	}
	return nil
}
