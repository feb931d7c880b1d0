package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func renameCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "rename session title…", Short: "Change the title of a session",
		Args: cli.Args(2, -1, "a session and a title"),
		RunE: func(cmd *cobra.Command, args []string) error {
			title := strings.TrimSpace(strings.ToValidUTF8(strings.Join(args[1:], " "), ""))
			if title == "" {
				return cli.UsageError("write the title after the session", "the title is empty")
			}
			return editSessions(cmd.Context(), a, args[:1], func(s *sdk.Session) string {
				s.Title = title
				return "is named " + terminal.OneLine(title)
			})
		},
	}
}

func archiveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "archive session…", Short: "Archive sessions (hidden from lists and -c)",
		Args: cli.Args(1, -1, "a session ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editSessions(cmd.Context(), a, args, func(s *sdk.Session) string {
				if s.Time.Archived != 0 {
					return ""
				}
				s.Time.Archived = time.Now().UnixMilli()
				return "is archived; undo with tenon session unarchive " + s.ID + ""
			})
		},
	}
}

func unarchiveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "unarchive session…", Short: "Unarchive sessions",
		Args: cli.Args(1, -1, "a session ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editSessions(cmd.Context(), a, args, func(s *sdk.Session) string {
				if s.Time.Archived == 0 {
					return ""
				}
				s.Time.Archived = 0
				return "is no longer archived"
			})
		},
	}
}

// editSessions changes sessions and prints the text that change returns; an empty text means no change.
func editSessions(ctx context.Context, a *cli.App, ids []string, change func(*sdk.Session) string) error {
	return a.WithStore(ctx, func(_ *cli.Workspace, s store.Store) error {
		for _, id := range ids {
			info, err := cli.FindSession(ctx, s, id)
			if err != nil {
				return err
			}
			text, err := editSession(ctx, s, info.ID, change)
			if err != nil {
				return err
			}
			if text == "" {
				text = "is unchanged"
			}
			a.Screen.Line(info.ID + " " + text)
		}
		return nil
	})
}

// editSession claims a session and changes it.
func editSession(ctx context.Context, s store.Store, id string, change func(*sdk.Session) string) (text string, err error) {
	token, err := s.Claim(ctx, id)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Release(context.WithoutCancel(ctx), token)) }()
	info, _, err := s.Session(ctx, id)
	if err != nil {
		return "", err
	}
	if text = change(info); text == "" {
		return "", nil
	}
	if _, err = s.Append(ctx, token, []store.Op{store.PutSession{Session: info}}); err != nil {
		return "", fmt.Errorf("change session %s: %w", id, err)
	}
	return text, nil
}
