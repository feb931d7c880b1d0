package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/transfer"
	"github.com/tenonhq/tenon/sdk"
)

type importOptions struct{ force, renew bool }

func (a *app) importCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use: "import file", Short: "Store a session that tenon or opencode exported",
		Long: `Store a session that tenon session export or opencode export wrote; - reads stdin.

The session becomes one of this project: it goes on in this directory, with the permissions that are configured here. It is
stored whole or not at all. What cannot be carried over is told on stderr.`,
		Args: arguments(1, 1, "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.force && o.renew {
				return usageError("pass one of them", "--force replaces the session, --new keeps it")
			}
			f, err := a.readExport(args[0])
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(w *workspace, s store.Store) error {
				return a.importSession(cmd.Context(), w, s, f, o)
			})
		},
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "replace a session that is there by the same id")
	cmd.Flags().BoolVar(&o.renew, "new", false, "give the session a new id")
	return cmd
}

func (a *app) readExport(file string) (*transfer.File, error) {
	var in io.Reader = a.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usageError("pass a file that tenon session export or opencode export wrote", "import %q: %w", file, cause(err))
		}
		defer f.Close()
		in = f
	}
	f, err := transfer.Read(in)
	if errors.Is(err, transfer.ErrFile) {
		return nil, usageError("export the session again; nothing was stored", "import %q: %w", file, err)
	}
	if err != nil {
		return nil, usageError("pass a file that can be read", "import %q: %w", file, cause(err))
	}
	return f, nil
}

func (a *app) importSession(ctx context.Context, w *workspace, s store.Store, f *transfer.File, o importOptions) error {
	if !o.renew && !o.force {
		if done, err := a.importedBefore(ctx, s, f); done || err != nil {
			return err
		}
	}
	if o.renew {
		renewed, err := f.Renew(&sdk.IDs{})
		if err != nil {
			return err
		}
		f = renewed
	}
	notes := f.Adopt(transfer.Place{ProjectID: w.projectID(), Directory: w.project.Directory})
	if !o.renew && !o.force {
		// A file from elsewhere is not the same as what was made of it.
		if done, err := a.importedBefore(ctx, s, f); done || err != nil {
			return err
		}
	}
	err := s.Import(ctx, f.Imports(), o.force)
	if errors.Is(err, store.ErrExists) {
		return usageError("--force replaces it, --new stores the file under a new id; tenon session show "+f.Info.ID+" prints it",
			"%w, with another conversation", err)
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		a.screen.line("note: " + visible(note))
	}
	a.screen.line(fmt.Sprintf("%s with %s is stored", f.Info.ID, plural(len(f.Messages), "message")))
	return nil
}

// importedBefore reports whether the session of the file is there with the same conversation, and says so.
func (a *app) importedBefore(ctx context.Context, s store.Store, f *transfer.File) (bool, error) {
	info, _, err := s.Session(ctx, f.Info.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		var there *transfer.File
		if there, err = transfer.Export(ctx, s, info, false); err == nil {
			return a.sameConversation(there, f)
		}
	}
	return false, a.withoutDamage(err) // one with damage is not the same
}

func (a *app) sameConversation(there, f *transfer.File) (bool, error) {
	same, err := transfer.Same(there, f)
	if same {
		a.screen.line(f.Info.ID + " is there already, with the same conversation; nothing was changed")
	}
	return same, err
}
