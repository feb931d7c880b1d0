package sessions

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func (g *group) rename(ctx context.Context, _ *cli.Workspace, s store.Store, args []string) error {
	title := strings.TrimSpace(strings.ToValidUTF8(strings.Join(args[1:], " "), ""))
	if title == "" {
		return cli.UsageError("write the title after the session", "the title is empty")
	}
	return g.edit(ctx, s, args[:1], func(s *sdk.Session) string {
		s.Title = title
		return "is named " + terminal.OneLine(title)
	})
}

// archiving returns the command that archives or unarchives sessions.
func (g *group) archiving(archived bool) func(context.Context, *cli.Workspace, store.Store, []string) error {
	return func(ctx context.Context, _ *cli.Workspace, s store.Store, ids []string) error {
		return g.edit(ctx, s, ids, func(s *sdk.Session) string {
			switch {
			case archived == (s.Time.Archived != 0):
				return ""
			case archived:
				s.Time.Archived = time.Now().UnixMilli()
				return "is archived; undo with tenon session unarchive " + s.ID
			}
			s.Time.Archived = 0
			return "is no longer archived"
		})
	}
}

// edit changes sessions and prints the text that change returns; an empty text means no change.
func (g *group) edit(ctx context.Context, s store.Store, ids []string, change func(*sdk.Session) string) error {
	for _, id := range ids {
		info, err := cli.FindSession(ctx, s, id)
		if err != nil {
			return err
		}
		text, err := cli.EditSession(ctx, s, info.ID, change)
		if err != nil {
			return err
		}
		g.Say("%s %s", info.ID, cmp.Or(text, "is unchanged"))
	}
	return nil
}

func (g *group) fork(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
	id, err := cli.FindMessage(ctx, m.Store, s.ID, g.message)
	if err != nil {
		return err
	}
	fork, err := m.Fork(ctx, s.ID, id)
	if err = g.WithoutDamage(err); err != nil {
		return err
	}
	return g.Show(fork, func() error {
		g.Say("forked from %s; continue it with tenon run -s %s; files are unchanged", s.ID, fork.ID)
		return g.Print(fork.ID + "\n")
	})
}

func (g *group) compact(ctx context.Context, w *cli.Workspace, args []string) error {
	cli.KeepWriting()
	m, err := w.Open(ctx, cli.HostOptions{})
	if err != nil {
		return err
	}
	signals, stop := g.TakeSignals()
	defer stop()
	t := &turn.Turn{
		Machine: m, Signals: signals,
		Begin: func(ctx context.Context) (*sdk.Session, error) { return cli.ArgumentSession(ctx, w, m.Store, args) },
		Do: func(ctx context.Context, session string) (*sdk.MessageWithParts, error) {
			return nil, m.Compact(ctx, session, g.model)
		},
	}
	return t.RunAndClose(ctx)
}

func (g *group) uncompact(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
	err := m.Uncompact(ctx, s.ID)
	if errors.Is(err, host.ErrNothing) {
		return cli.Fail(cli.ExitUsage, err, "tenon session compact creates one")
	}
	if err == nil {
		g.Say("removed the latest summary of %s", s.ID)
	}
	return err
}
