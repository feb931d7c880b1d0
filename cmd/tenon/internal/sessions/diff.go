package sessions

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

func diffCommand(a *cli.App) *cobra.Command {
	var from string
	var names bool
	cmd := &cobra.Command{
		Use: "diff [session]", Short: "Print the file changes of a session and its subagents",
		Args: cli.Args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithHost(cmd.Context(), args, func(ctx context.Context, m *cli.Machine, s *sdk.Session) error {
				id, err := cli.FindMessage(ctx, m.Store, s.ID, from)
				if err != nil {
					return err
				}
				list, err := m.SessionChanges(ctx, s.ID, id)
				if err != nil {
					return RevertProblem(err)
				}
				return ShowChanges(a, list, names)
			})
		},
	}
	a.FormatFlag(cmd)
	cmd.Flags().StringVar(&from, "from", "", "start at this `message` (ID or unique prefix)")
	cmd.Flags().BoolVar(&names, "name-only", false, "print only file names")
	return cmd
}

// ShowChanges prints file changes as unified diffs, or only the file names.
func ShowChanges(a *cli.App, list []host.FileChange, names bool) error {
	if a.JSON {
		out := []sdk.FileDiff{}
		for _, c := range list {
			d := sdk.FileDiff{File: c.Path, Status: c.Status, Patch: unified(&c)}
			d.Additions, d.Deletions = countLines(d.Patch)
			out = append(out, d)
		}
		return a.PrintJSON(out)
	}
	if len(list) == 0 {
		a.Screen.Line("the session changed no files, or its changes were reverted")
		return nil
	}
	var b strings.Builder
	for _, c := range list {
		if names {
			fmt.Fprintln(&b, terminal.Visible(c.Path))
			continue
		}
		b.WriteString(unified(&c))
	}
	return a.Print(b.String())
}

// unified returns the change of a file as a unified diff.
func unified(c *host.FileChange) string {
	before, after := "a/"+c.Path, "b/"+c.Path
	switch c.Status {
	case "added":
		before = "/dev/null"
	case "deleted":
		after = "/dev/null"
	}
	if binary(c.Before) || binary(c.After) {
		return fmt.Sprintf("Binary files %s and %s differ\n", terminal.Visible(before), terminal.Visible(after))
	}
	if bytes.Equal(c.Before, c.After) {
		what := "changed only in type or permissions"
		if c.Status != "modified" {
			what = "is empty and was " + c.Status
		}
		return fmt.Sprintf("%s %s\n", terminal.Visible(c.Path), what)
	}
	return udiff.Unified(terminal.Visible(before), terminal.Visible(after), string(c.Before), string(c.After))
}

// binary reports whether content is not text.
func binary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) }

// countLines counts the added and deleted lines of a patch.
func countLines(patch string) (added, deleted int) {
	_, hunks, _ := strings.Cut(patch, "\n@@")
	for line := range strings.SplitSeq(hunks, "\n") {
		switch {
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			deleted++
		}
	}
	return added, deleted
}
