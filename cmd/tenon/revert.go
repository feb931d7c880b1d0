package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/snapshot"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func (a *app) revertCommand() *cobra.Command {
	var form, to string
	var force, list bool
	cmd := &cobra.Command{
		Use: "revert [session]", Short: "Undo the last prompt: what it did to files, and its messages",
		Long: `Undo the last prompt: what it did to files, and its messages. Once more undoes the one before it.

Only files that the session changed are touched. When somebody changed one of them since, nothing is done and the
files are listed. The messages are dropped with the next prompt; until then tenon session unrevert brings
everything back.`,
		Example: `  tenon session revert
  tenon session revert --list
  tenon session revert --to msg_1fcbe32a8002DJipDyifsBpiex`,
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.withSession(cmd.Context(), args, func(_ *workspace, s store.Store, info *sdk.Session) error {
					return a.listPrompts(cmd.Context(), s, info, form)
				})
			}
			return a.withHost(cmd.Context(), args, func(ctx context.Context, m *machine, s *sdk.Session) error {
				id, err := findMessage(ctx, m.store, s.ID, to)
				if err != nil {
					return err
				}
				r, err := m.Revert(ctx, host.RevertOptions{SessionID: s.ID, MessageID: id, Force: force})
				if err != nil {
					return revertProblem(err)
				}
				return a.showReverted(r, form, "undone", "tenon session unrevert brings it back until the next prompt")
			})
		},
	}
	format(cmd, &form)
	cmd.Flags().StringVar(&to, "to", "", "undo everything from this message on, named by its id or the beginning of it")
	cmd.Flags().BoolVar(&force, "force", false, "take files back that were changed by somebody else since")
	cmd.Flags().BoolVar(&list, "list", false, "undo nothing, list the prompts that can be undone")
	return cmd
}

func (a *app) unrevertCommand() *cobra.Command {
	var form string
	var force bool
	cmd := &cobra.Command{
		Use: "unrevert [session]", Short: "Bring back what was undone, files and messages",
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), args, func(ctx context.Context, m *machine, s *sdk.Session) error {
				r, err := m.Unrevert(ctx, s.ID, force)
				if err != nil {
					return revertProblem(err)
				}
				return a.showReverted(r, form, "brought back", "")
			})
		},
	}
	format(cmd, &form)
	cmd.Flags().BoolVar(&force, "force", false, "write files that were changed by somebody else since")
	return cmd
}

// withHost runs f with a host and the session that the argument names, without one with the latest.
func (a *app) withHost(ctx context.Context, args []string, f func(context.Context, *machine, *sdk.Session) error) (err error) {
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	m, err := w.open(ctx, hostOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	s, err := argumentSession(ctx, w, m.store, args)
	if err != nil {
		return err
	}
	return f(ctx, m, s)
}

// showReverted tells what was done: the session on stderr, the files on stdout, a line each.
func (a *app) showReverted(r *host.Reverted, form, what, hint string) error {
	if form == "json" {
		return a.writeJSON(r)
	}
	text := fmt.Sprintf("%s: %s %s", r.SessionID, plural(len(r.Files), "file"), what)
	if r.Messages > 0 {
		text = fmt.Sprintf("%s: %s and %s %s", r.SessionID, plural(r.Messages, "message"), plural(len(r.Files), "file"), what)
	}
	if hint != "" {
		text += "; " + hint
	}
	a.screen.line(text)
	var b strings.Builder
	for _, file := range r.Files {
		fmt.Fprintln(&b, visible(file))
	}
	return a.write(b.String())
}

// revertProblem gives errors of undoing their remedies.
func revertProblem(err error) error {
	var conflict *host.ConflictError
	switch {
	case errors.As(err, &conflict):
		lines := make([]string, len(conflict.Files))
		for i, file := range conflict.Files {
			lines[i] = visible(file)
		}
		if conflict.Forced {
			return fail(exitTurn, fmt.Errorf("nothing was changed: where files would come back somebody put others into directories:\n%s", strings.Join(lines, "\n")),
				"move them away first")
		}
		return fail(exitTurn, fmt.Errorf("nothing was changed: somebody changed files since the session wrote them:\n%s", strings.Join(lines, "\n")),
			"put your changes aside first, or pass --force to overwrite these files")
	case errors.Is(err, host.ErrBusy):
		return fail(exitStore, err, "wait until its turn is over, or abort it")
	case errors.Is(err, host.ErrNothing):
		return fail(exitUsage, err, "tenon session revert --list shows what can be undone")
	case errors.Is(err, host.ErrElsewhere):
		return fail(exitTurn, err, "run it there, or pass --dir with the directory of that project")
	case errors.Is(err, snapshot.ErrGone):
		return fail(exitTurn, err, "states of files are kept for a week; take the files from version control or a backup")
	case errors.Is(err, snapshot.ErrOff):
		return fail(exitTurn, err, "work in a git repository that is no home directory, with git in PATH")
	}
	return err
}

// findMessage finds a message of a session by its identifier or the beginning of it.
func findMessage(ctx context.Context, s store.Store, session, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	list, err := s.Messages(ctx, session, store.Page{})
	if _, err = store.Readable(err); err != nil { // damage does not keep a message from being found
		return "", err
	}
	found := ""
	for _, m := range list {
		candidate := m.Info.Head().ID
		switch {
		case candidate == id:
			return id, nil
		case !strings.HasPrefix(candidate, id):
		case found != "":
			return "", usageError("write more of the id", "message %q is ambiguous", id)
		default:
			found = candidate
		}
	}
	if found == "" {
		return "", usageError("tenon session revert --list shows the prompts", "there is no message %q in session %s", id, session)
	}
	return found, nil
}

// listedPrompt is one line of a list of prompts.
type listedPrompt struct {
	ID     string     `json:"id"`
	Time   sdk.Millis `json:"time"`
	Files  int        `json:"files"` // that the answer changed, those of subagents not among them
	Undone bool       `json:"undone,omitempty"`
	Text   string     `json:"text"`
}

func (a *app) listPrompts(ctx context.Context, s store.Store, info *sdk.Session, form string) error {
	messages, err := s.Messages(ctx, info.ID, store.Page{})
	if err = a.withoutDamage(err); err != nil {
		return err
	}
	list, undone := []listedPrompt{}, false
	files := map[string]bool{}
	for _, m := range messages {
		undone = undone || info.Revert != nil && info.Revert.MessageID == m.Info.Head().ID
		if u, ok := m.Info.(*sdk.UserMessage); ok {
			if text := typedText(m.Parts); text != "" {
				list, files = append(list, listedPrompt{ID: u.ID, Time: u.Time.Created, Undone: undone, Text: text}), map[string]bool{}
			}
		}
		for _, p := range m.Parts {
			if patch, ok := p.(*sdk.PatchPart); ok && len(list) > 0 {
				for _, file := range patch.Files {
					files[file] = true
				}
				list[len(list)-1].Files = len(files)
			}
		}
	}
	if form == "json" {
		return a.writeJSON(list)
	}
	t := &table{}
	for _, p := range list {
		state := plural(p.Files, "file")
		if p.Undone {
			state += ", undone"
		}
		t.add(p.ID, ago(p.Time, time.Now()), state, oneLine(p.Text))
	}
	return a.writeTable(t)
}

// typedText is what a user wrote in a message; empty for messages that the host wrote.
func typedText(parts sdk.Parts) string {
	var out []string
	for _, p := range parts {
		if text, ok := p.(*sdk.TextPart); ok && !text.Synthetic {
			out = append(out, text.Text)
		}
	}
	return strings.Join(out, "\n")
}
