package sessions

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/sdk"
)

func (g *group) revert(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
	id, err := cli.FindMessage(ctx, m.Store, s.ID, g.message)
	if err != nil {
		return err
	}
	r, err := m.Revert(ctx, host.RevertOptions{SessionID: s.ID, MessageID: id, Force: g.force})
	if err != nil {
		return err
	}
	return ShowReverted(g.App, r, "undone", "tenon session unrevert restores them until the next prompt")
}

func (g *group) unrevert(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
	r, err := m.Unrevert(ctx, s.ID, g.force)
	if err != nil {
		return err
	}
	return ShowReverted(g.App, r, "restored", "")
}

// ShowReverted prints a summary to stderr and the files to stdout, one per line.
func ShowReverted(a *cli.App, r *host.Reverted, what, hint string) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	text := fmt.Sprintf("%s: %s %s", r.SessionID, view.Plural(len(r.Files), "file"), what)
	switch {
	case r.Messages == 0 && len(r.Files) == 0: // redo does not count the messages
		text = fmt.Sprintf("%s: messages %s", r.SessionID, what)
	case r.Messages > 0:
		text = fmt.Sprintf("%s: %s and %s %s", r.SessionID, view.Plural(r.Messages, "message"), view.Plural(len(r.Files), "file"), what)
	}
	if hint != "" {
		text += "; " + hint
	}
	a.Say("%s", text)
	if r.Off != "" {
		a.Say("%s", terminal.OneLine(r.Off))
	}
	var b strings.Builder
	for _, file := range r.Files {
		fmt.Fprintln(&b, terminal.FileName(file))
	}
	return a.Print(b.String())
}

func (g *group) diff(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
	list, err := m.SessionChanges(ctx, s.ID)
	if err != nil {
		return err
	}
	return ShowChanges(g.App, list)
}

// ShowChanges prints file changes as unified diffs.
func ShowChanges(a *cli.App, list []host.FileChange) error {
	if a.JSON {
		out := []sdk.FileDiff{}
		for _, c := range list {
			d := Compare(&c)
			out = append(out, sdk.FileDiff{File: c.Path, Status: c.Status, Patch: d.Text, Additions: d.Additions, Deletions: d.Deletions})
		}
		return a.PrintJSON(out)
	}
	if len(list) == 0 {
		a.Say("the session changed no files, or its changes were reverted")
		return nil
	}
	var b strings.Builder
	for _, c := range list {
		b.WriteString(Compare(&c).Text)
	}
	return a.PrintContent(b.String())
}

// Compare returns the change of a file as a unified diff, or in words.
func Compare(c *host.FileChange) linediff.Diff {
	before, after := "a/"+c.Path, "b/"+c.Path
	switch c.Status {
	case "added":
		before = "/dev/null"
	case "deleted":
		after = "/dev/null"
	}
	if binary(c.Before) || binary(c.After) {
		return linediff.Diff{Text: fmt.Sprintf("Binary files %s and %s differ\n", terminal.FileName(before), terminal.FileName(after))}
	}
	if bytes.Equal(c.Before, c.After) {
		what := "changed only in type or permissions"
		if c.Status != "modified" {
			what = "is empty and was " + c.Status
		}
		return linediff.Diff{Text: fmt.Sprintf("%s %s\n", terminal.FileName(c.Path), what)}
	}
	return linediff.Compare(terminal.FileName(before), terminal.FileName(after), string(c.Before), string(c.After))
}

// binary reports whether content is not text.
func binary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) }
