package sessions

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func renameCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "rename session title…", Short: "Change the title of a session",
		RunE: a.OnStore(func(ctx context.Context, _ *cli.Workspace, s store.Store, args []string) error {
			title := strings.TrimSpace(strings.ToValidUTF8(strings.Join(args[1:], " "), ""))
			if title == "" {
				return cli.UsageError("write the title after the session", "the title is empty")
			}
			return editSessions(ctx, a, s, args[:1], func(s *sdk.Session) string {
				s.Title = title
				return "is named " + terminal.OneLine(title)
			})
		}),
	}
}

// archiveCommand returns the command that archives sessions, or takes that back.
func archiveCommand(a *cli.App, name, short string, archive bool) *cobra.Command {
	change := func(s *sdk.Session) string {
		if archive == (s.Time.Archived != 0) {
			return ""
		}
		if s.Time.Archived = 0; !archive {
			return "is no longer archived"
		}
		s.Time.Archived = time.Now().UnixMilli()
		return "is archived; undo with tenon session unarchive " + s.ID
	}
	return &cobra.Command{
		Use: name + " session…", Short: short,
		RunE: a.OnStore(func(ctx context.Context, _ *cli.Workspace, s store.Store, ids []string) error {
			return editSessions(ctx, a, s, ids, change)
		}),
	}
}

// editSessions changes sessions and prints the text that change returns; an empty text means no change.
func editSessions(ctx context.Context, a *cli.App, s store.Store, ids []string, change func(*sdk.Session) string) error {
	for _, id := range ids {
		info, err := cli.FindSession(ctx, s, id)
		if err != nil {
			return err
		}
		text, err := cli.EditSession(ctx, s, info.ID, change)
		if err != nil {
			return err
		}
		a.Say("%s %s", info.ID, cmp.Or(text, "is unchanged"))
	}
	return nil
}

func forkCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "fork [session]", Short: "Copy a session, or its messages up to a point, into a new one"}
	at := cmd.Flags().String("at", "", "copy only the messages before this `message` (ID or unique prefix)")
	cmd.RunE = a.OnHost(func(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
		id, err := cli.FindMessage(ctx, m.Store, s.ID, *at)
		if err != nil {
			return err
		}
		fork, err := m.Fork(ctx, s.ID, id)
		if err = a.WithoutDamage(err); err != nil {
			return err
		}
		return a.Show(fork, func() error {
			a.Say("forked from %s; continue it with tenon run -s %s; files are unchanged", s.ID, fork.ID)
			return a.Print(fork.ID + "\n")
		})
	})
	return a.FormatFlag(cmd)
}

func compactCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "compact [session]", Short: "Summarize a session to free up context; the original messages are kept"}
	model := cmd.Flags().StringP("model", "m", "", "model that writes the summary, as `provider/model`")
	cmd.RunE = a.OnConfig(func(ctx context.Context, w *cli.Workspace, args []string) error {
		return compactSession(ctx, w, args, *model)
	})
	return a.FormatFlag(cmd)
}

func compactSession(ctx context.Context, w *cli.Workspace, args []string, model string) error {
	signals, stop := w.App.TakeSignals()
	defer stop()
	m, err := w.Open(ctx, cli.HostOptions{})
	if err != nil {
		return err
	}
	t := &turn.Turn{Machine: m, Signals: signals}
	id := ""
	t.Begin = func(ctx context.Context) (*sdk.Session, error) {
		s, err := cli.ArgumentSession(ctx, w, m.Store, args)
		if err == nil {
			id = s.ID
		}
		return s, err
	}
	t.Do = func(ctx context.Context) (*sdk.MessageWithParts, error) { return nil, m.Compact(ctx, id, model) }
	return t.RunAndClose(ctx)
}

func uncompactCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "uncompact [session]", Short: "Remove the latest summary, so that the model sees the original messages again",
		RunE: a.OnHost(func(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
			err := m.Uncompact(ctx, s.ID)
			if errors.Is(err, host.ErrNothing) {
				return cli.Fail(cli.ExitUsage, err, "tenon session compact creates one")
			}
			if err == nil {
				a.Say("removed the latest summary of %s", s.ID)
			}
			return err
		}),
	}
}
