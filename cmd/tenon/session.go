package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "session", Aliases: []string{"sessions"}, Short: "List, show, export, delete and compact sessions"}
	group(cmd)
	cmd.AddCommand(a.listCommand(), a.showCommand(), a.exportCommand(), a.deleteCommand(), a.compactCommand(), a.uncompactCommand())
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
	var all bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the sessions of this project, the latest first",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(w *workspace, s store.Store) error {
				return a.listSessions(cmd.Context(), w, s, form, limit, all)
			})
		},
	}
	format(cmd, &form)
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "most sessions to list")
	cmd.Flags().BoolVar(&all, "all", false, "list the sessions of all projects")
	return cmd
}

func (a *app) listSessions(ctx context.Context, w *workspace, s store.Store, form string, limit int, all bool) error {
	if limit < 1 {
		return usageError("pass a number from 1 on", "-n %d lists nothing", limit)
	}
	q := store.Query{Limit: limit}
	if !all {
		if q.ProjectID = w.projectID(); q.ProjectID == globalProject {
			q.ProjectID, q.Directory = "", w.project.Directory
		}
	}
	list, err := s.Sessions(ctx, q)
	if err != nil {
		return err
	}
	if form == "json" {
		if list == nil {
			list = []sdk.Session{}
		}
		return a.writeJSON(list)
	}
	if len(list) == 0 {
		a.screen.line("there are no sessions here yet; tenon run starts one, tenon session list --all shows those of other projects")
		return nil
	}
	t := &table{}
	for _, info := range list {
		cells := []string{info.ID, ago(info.Time.Updated, time.Now()), money(info.Cost), oneLine(info.Title)}
		if all {
			cells = []string{info.ID, ago(info.Time.Updated, time.Now()), money(info.Cost), oneLine(info.Directory), oneLine(info.Title)}
		}
		t.add(cells...)
	}
	return a.writeTable(t)
}

func (a *app) exportCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "export [session]", Short: "Write a session as JSON, the latest one by default",
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), args, func(_ *workspace, s store.Store, info *sdk.Session) error {
				return a.export(cmd.Context(), s, info, file)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file instead of stdout")
	return cmd
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
		return latestSession(ctx, s, w.project.Directory)
	}
	return findSession(ctx, s, args[0])
}

// exported is a session as opencode exports one.
type exported struct {
	Info     *sdk.Session           `json:"info"`
	Messages []sdk.MessageWithParts `json:"messages"`
}

func (a *app) export(ctx context.Context, s store.Store, info *sdk.Session, file string) error {
	messages, err := s.Messages(ctx, info.ID, store.Page{})
	if err != nil {
		return err
	}
	if messages == nil {
		messages = []sdk.MessageWithParts{}
	}
	value := exported{info, messages}
	if file == "" {
		return a.writeJSON(value)
	}
	if err := writeExport(file, value); err != nil {
		return &failure{exitTurn, fmt.Errorf("export to %q: %w", file, cause(err)), "choose another file with -o, or leave -o out and redirect stdout"}
	}
	a.screen.line(fmt.Sprintf("%s with %s is in %s", info.ID, plural(len(messages), "message"), visible(file)))
	return nil
}

// writeExport writes the whole file or leaves the one that is there alone.
func writeExport(file string, value exported) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".tenon-export-*")
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = errors.Join(enc.Encode(value), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
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
		if err != nil {
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
