package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

func (a *app) diffCommand() *cobra.Command {
	var form, from string
	var names bool
	cmd := &cobra.Command{
		Use: "diff [session]", Short: "Print what a session and its subagents did to files",
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), args, func(ctx context.Context, m *machine, s *sdk.Session) error {
				id, err := findMessage(ctx, m.store, s.ID, from)
				if err != nil {
					return err
				}
				list, err := m.SessionChanges(ctx, s.ID, id)
				if err != nil {
					return revertProblem(err)
				}
				return a.showChanges(list, form, names)
			})
		},
	}
	format(cmd, &form)
	cmd.Flags().StringVar(&from, "from", "", "only what was done from this message on, named by its id or the beginning of it")
	cmd.Flags().BoolVar(&names, "name-only", false, "print the names of the files alone")
	return cmd
}

func (a *app) showChanges(list []host.FileChange, form string, names bool) error {
	if form == "json" {
		out := []sdk.FileDiff{}
		for _, c := range list {
			d := sdk.FileDiff{File: c.Path, Status: c.Status, Patch: unified(&c)}
			d.Additions, d.Deletions = countLines(d.Patch)
			out = append(out, d)
		}
		return a.writeJSON(out)
	}
	if len(list) == 0 {
		a.screen.line("the session changed no files, or what it changed is undone")
		return nil
	}
	var b strings.Builder
	for _, c := range list {
		if names {
			fmt.Fprintln(&b, visible(c.Path))
			continue
		}
		b.WriteString(unified(&c))
	}
	return a.write(b.String())
}

// unified returns the change of a file as a patch.
func unified(c *host.FileChange) string {
	before, after := "a/"+c.Path, "b/"+c.Path
	switch c.Status {
	case "added":
		before = "/dev/null"
	case "deleted":
		after = "/dev/null"
	}
	if binary(c.Before) || binary(c.After) {
		return fmt.Sprintf("Binary files %s and %s differ\n", visible(before), visible(after))
	}
	if bytes.Equal(c.Before, c.After) {
		what := "is the same, but for its kind or its permissions"
		if c.Status != "modified" {
			what = "with nothing in it was " + c.Status
		}
		return fmt.Sprintf("%s %s\n", visible(c.Path), what)
	}
	return udiff.Unified(visible(before), visible(after), string(c.Before), string(c.After))
}

// binary reports whether a content is no text.
func binary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) }

// countLines counts the lines that a patch adds and takes away.
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
