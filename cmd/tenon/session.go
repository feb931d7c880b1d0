package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "session", Aliases: []string{"sessions"}, Short: "List, show, search, export, import, repair and clean up sessions"}
	group(cmd)
	cmd.AddCommand(a.listCommand(), a.showCommand(), a.deleteCommand(), a.compactCommand(), a.uncompactCommand())
	cmd.AddCommand(a.revertCommand(), a.unrevertCommand(), a.diffCommand(), a.forkCommand())
	cmd.AddCommand(a.searchCommand(), a.exportCommand(), a.importCommand(), a.renameCommand(), a.archiveCommand(), a.unarchiveCommand(), a.gcCommand(), a.repairCommand())
	return cmd
}

// withStore runs f with the session store, for commands that need neither configuration nor plugins.
func (a *app) withStore(ctx context.Context, f func(w *workspace, s store.Store) error) error {
	w, err := a.place(ctx)
	if err != nil {
		return err
	}
	s, err := w.openStore(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(w, s), s.Close())
}

func (a *app) listCommand() *cobra.Command {
	var form string
	var limit int
	var all, archived bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the sessions of this project, the latest first",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(w *workspace, s store.Store) error {
				return a.listSessions(cmd.Context(), w, s, form, limit, all, archived)
			})
		},
	}
	format(cmd, &form)
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "most sessions to list")
	cmd.Flags().BoolVar(&all, "all", false, "list the sessions of all projects")
	cmd.Flags().BoolVar(&archived, "archived", false, "list archived sessions too")
	return cmd
}

// scope returns what selects the sessions of this project: its identifier, or outside of a repository its directory.
func (w *workspace) scope() (projectID, directory string) {
	if id := w.projectID(); id != globalProject {
		return id, ""
	}
	return "", w.project.Directory
}

func (a *app) listSessions(ctx context.Context, w *workspace, s store.Store, form string, limit int, all, archived bool) error {
	if limit < 1 {
		return usageError("pass a number from 1 on", "-n %d lists nothing", limit)
	}
	q := store.Query{Limit: limit, Archived: archived}
	if !all {
		q.ProjectID, q.Directory = w.scope()
	}
	if form == "json" {
		list, err := s.Sessions(ctx, q)
		if err = a.withoutDamage(err); err != nil {
			return err
		}
		return a.writeJSON(append([]sdk.Session{}, list...))
	}
	list, err := s.List(ctx, q)
	if err = a.withoutDamage(err); err != nil {
		return err
	}
	if len(list) == 0 {
		a.screen.line(noSessions(all, archived))
		return nil
	}
	now := time.Now()
	t := &table{}
	for i := range list {
		info := &list[i]
		cells := []string{info.ID, ago(info.Updated, now), money(info.Cost)}
		if all {
			cells = append(cells, oneLine(info.Directory))
		}
		title := oneLine(info.Title)
		if info.Archived != 0 {
			title += " (archived)"
		}
		t.add(append(cells, title)...)
	}
	return a.writeTable(t)
}

// noSessions says that a listing is empty, and which one may not be.
func noSessions(all, archived bool) string {
	var others []string
	if !all {
		others = append(others, "--all shows those of other projects")
	}
	if !archived {
		others = append(others, "--archived lists archived ones too")
	}
	return strings.Join(append([]string{"there are no sessions here yet; tenon run starts one"}, others...), ", ")
}

// withSession runs f with the session that the argument names, without one with the latest.
func (a *app) withSession(ctx context.Context, args []string, f func(*workspace, store.Store, *sdk.Session) error) error {
	return a.withStore(ctx, func(w *workspace, s store.Store) error {
		info, err := argumentSession(ctx, w, s, args)
		if err != nil {
			return err
		}
		return f(w, s, info)
	})
}

func argumentSession(ctx context.Context, w *workspace, s store.Store, args []string) (*sdk.Session, error) {
	if len(args) == 0 {
		latest, err := latestSession(ctx, w, s)
		if err = w.app.withoutDamage(err); err == nil && latest.Directory != w.project.Directory {
			w.app.screen.line(fmt.Sprintf("note: no session was started in this directory; this is the latest of the project, started in %s", visible(latest.Directory)))
		}
		return latest, err
	}
	found, err := findSession(ctx, s, args[0])
	return found, w.app.withoutDamage(err)
}

func (a *app) deleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete session…", Aliases: []string{"rm"}, Short: "Delete sessions and those of their subagents",
		Args: arguments(1, -1, "the id of a session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(_ *workspace, s store.Store) error {
				return a.deleteSessions(cmd.Context(), s, args, yes)
			})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *app) deleteSessions(ctx context.Context, s store.Store, ids []string, yes bool) error {
	var list []*sdk.Session
	for _, id := range ids {
		info, err := findSession(ctx, s, id)
		if err = a.withoutDamage(err); err != nil {
			return err
		}
		list = append(list, info)
	}
	for _, info := range list {
		if !yes {
			ok, err := a.confirm(fmt.Sprintf("delete %s (%s)? It cannot be brought back. [y/N] ", info.ID, oneLine(info.Title)))
			if err != nil {
				return err
			}
			if !ok {
				a.screen.line(info.ID + " is kept")
				continue
			}
		}
		if err := s.Delete(ctx, info.ID); err != nil {
			return err
		}
		a.screen.line(info.ID + " is deleted")
	}
	return nil
}

// confirm asks a question whose answer is no unless the user says yes.
func (a *app) confirm(question string) (bool, error) {
	if !a.screen.answers {
		return false, usageError("pass --yes", "nobody is there to confirm")
	}
	dropInput(a.in)
	a.screen.ask(question)
	line, err := readLine(a.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if err == nil {
		a.screen.answered()
	}
	switch strings.ToLower(line) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// readLine reads one line and not a byte more.
func readLine(r io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1)
	for {
		n, err := r.Read(b)
		if n == 1 && b[0] == '\n' {
			return strings.TrimSpace(string(line)), nil
		}
		line = append(line, b[:n]...)
		if err != nil {
			return strings.TrimSpace(string(line)), err
		}
	}
}
