package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/transfer"
	"github.com/tenonhq/tenon/sdk"
)

type exportOptions struct {
	file         string
	full, redact bool
}

func (a *app) exportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use: "export [session]", Short: "Write a session as JSON, the latest one by default",
		Long: `Write a session as JSON, in the form of opencode's export; tenon session import reads it.

Keys in the configuration and values of environment variables that hold keys by their names (…_KEY, …_TOKEN, …_SECRET,
…_PASSWORD, …_PASSWD) are masked. --redact hides all that was said: texts, paths and what tools got and gave are replaced by their length and a hash that can be
compared within the file alone.`,
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := a.configured(cmd.Context()); err != nil { // knows which values are secret
				return err
			}
			return a.withSession(cmd.Context(), args, func(_ *workspace, s store.Store, info *sdk.Session) error {
				return a.export(cmd.Context(), s, info, o)
			})
		},
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", "", "write to this file instead of stdout")
	cmd.Flags().BoolVar(&o.full, "full", false, "with the whole of large tool outputs, the task list and the sessions of subagents")
	cmd.Flags().BoolVar(&o.redact, "redact", false, "without texts, paths and what tools got and gave")
	return cmd
}

func (a *app) export(ctx context.Context, s store.Store, info *sdk.Session, o exportOptions) error {
	f, err := transfer.Export(ctx, s, info, o.full)
	if err = a.withoutDamage(err); err == nil && o.redact {
		f, err = f.Redact()
	}
	if err != nil {
		return err
	}
	text, err := indented(f)
	if err != nil {
		return err
	}
	text = a.mask.clean(text)
	if o.file == "" {
		return a.write(text)
	}
	if err := writeExport(o.file, text); err != nil {
		return &failure{exitTurn, fmt.Errorf("export to %q: %w", o.file, cause(err)), "choose another file with -o, or leave -o out and redirect stdout"}
	}
	a.screen.line(fmt.Sprintf("%s with %s is in %s", info.ID, plural(len(f.Messages), "message"), visible(o.file)))
	return nil
}

// indented returns the value as writeJSON would print it.
func indented(v any) (string, error) {
	var b strings.Builder
	enc := newEncoder(&b) // without escapes of HTML: a secret with an & would not be found
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.String(), err
}

// writeExport writes the whole file, durably, or leaves the one that is there alone.
func writeExport(file, text string) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".tenon-export-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
