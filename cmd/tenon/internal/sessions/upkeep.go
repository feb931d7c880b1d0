package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/lazyregexp"
)

func (g *group) repair(ctx context.Context, w *cli.Workspace, args []string) (err error) {
	s, err := w.OpenStore(ctx, sqlite.Options{ReadFull: true})
	if errors.Is(err, store.ErrCorrupt) && len(args) == 0 {
		return rebuild(ctx, w)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if len(args) == 0 {
		return repairAll(ctx, w, s)
	}
	info, err := cli.FindSession(ctx, s, args[0])
	if _, err = store.Readable(err); err != nil {
		return err
	}
	return repairSessions(ctx, w, s, []string{info.ID})
}

func repairAll(ctx context.Context, w *cli.Workspace, s store.Store) error {
	rows, err := store.Readable(s.Check(ctx, ""))
	if err != nil {
		return err
	}
	var sessions []string
	for _, row := range rows {
		if row.Type == store.DamagedStore {
			if err := s.Close(); err != nil {
				return err
			}
			return rebuild(ctx, w)
		}
		if !slices.Contains(sessions, row.Session) {
			sessions = append(sessions, row.Session)
		}
	}
	return repairSessions(ctx, w, s, sessions)
}

func repairSessions(ctx context.Context, w *cli.Workspace, s store.Store, sessions []string) error {
	total := 0
	for _, id := range sessions {
		file := filepath.Join(w.Project.DataDir, "damaged", unsuitable().ReplaceAllString(id, "_")+time.Now().UTC().Format("-20060102-150405.000")+".json")
		var kept []store.Aside
		err := s.Repair(ctx, id, func(rows []store.Aside) error {
			kept = rows
			return writeAsides(file, rows)
		})
		left, err := store.Readable(err)
		if err != nil {
			return err
		}
		for i := range kept {
			if err := w.App.Print(terminal.OneLine(kept[i].String()) + "\n"); err != nil {
				return err
			}
		}
		if len(kept) > 0 {
			w.App.Say("%s of %s moved to %s", view.Plural(len(kept), "row"), id, file)
		}
		if len(left) > 0 {
			return cli.Fail(cli.ExitStore, &store.DamageError{Store: w.Database(), Rows: left}, "tenon session repair, without a session, copies all readable data into a new database")
		}
		total += len(kept)
	}
	if total == 0 {
		w.App.Say("no damage found; nothing was changed")
	}
	return nil
}

// unsuitable matches characters of a damaged ID that are not suitable for file names.
var unsuitable = lazyregexp.New(`[^0-9A-Za-z_-]`)

// rebuild writes a new database. The store must be closed.
func rebuild(ctx context.Context, w *cli.Workspace) error {
	out, err := sqlite.Rebuild(ctx, sqlite.Options{Path: w.Database(), Version: w.App.Version, Logger: w.App.Log})
	if errors.Is(err, store.ErrCorrupt) {
		return cli.Fail(cli.ExitStore, err, "move the database away, or choose another data directory with --data-dir DIR")
	}
	if err != nil {
		return err
	}
	for _, row := range out.Lost {
		if err := w.App.Print(terminal.OneLine(row.String()) + "\n"); err != nil {
			return err
		}
	}
	w.App.Say("%s in a new %s; the damaged file is %s", view.Plural(out.Sessions, "session"), w.Database(), out.Kept)
	return nil
}

// asideRow is the saved form of a damaged row.
type asideRow struct {
	store.Damage
	Text   string `json:"text,omitempty"`   // stored data, if it is text
	Binary []byte `json:"base64,omitempty"` // otherwise
}

// writeAsides saves damaged rows durably and atomically.
func writeAsides(path string, rows []store.Aside) error {
	list := make([]asideRow, len(rows))
	for i, row := range rows {
		list[i].Damage = row.Damage
		if list[i].Binary = row.Data; utf8.Valid(row.Data) {
			list[i].Text, list[i].Binary = string(row.Data), nil
		}
	}
	data, _ := json.MarshalIndent(list, "", "  ") // texts, numbers and bytes always encode
	if err := atomicfile.Write(path, data, atomicfile.Options{MakeDirs: 0o700, Sync: true, SyncDir: true}); err != nil {
		return fmt.Errorf("%w: the damaged rows could not be saved; nothing was changed: %w", store.ErrReadOnly, cli.Cause(err))
	}
	return nil
}

// maxDays is the maximum age of kept sessions. A number that overflows the calendar would select all sessions.
const maxDays = 36_500

func (g *group) collect(cmd *cobra.Command, _ []string) error {
	o := store.GC{DryRun: g.dry}
	if cmd.Flags().Changed("archived-days") {
		if g.days < 0 || g.days > maxDays {
			return cli.UsageError(fmt.Sprintf("pass a number from 0 to %d", maxDays), "invalid --archived-days %d", g.days)
		}
		o.Archived = time.Now().AddDate(0, 0, -g.days).UnixMilli() + 1
	}
	return g.WithStore(cmd.Context(), func(_ *cli.Workspace, s store.Store) error {
		return collect(cmd.Context(), g.App, s, o)
	})
}

// collectedReport is the JSON output.
type collectedReport struct {
	DryRun   bool     `json:"dryRun"`
	Sessions []string `json:"sessions"`
	Outputs  int      `json:"outputs"`
	OutputKB int64    `json:"outputKB"`
	// Leftovers counts sessions that killed processes imported or deleted only in part. No listing shows them.
	Leftovers int `json:"leftovers"`
	InUse     int `json:"inUse"`
}

func collect(ctx context.Context, a *cli.App, s store.Store, o store.GC) error {
	got, err := s.Collect(ctx, o)
	if err != nil {
		return err
	}
	kb := (got.BlobBytes + 1023) / 1024
	if a.JSON {
		return a.PrintJSON(collectedReport{o.DryRun, append([]string{}, got.Sessions...), got.Blobs, kb, got.Leftovers, got.Skipped})
	}
	done := "removed"
	if o.DryRun {
		done = "would be removed"
	}
	t := &view.Table{}
	t.Add("archived sessions", fmt.Sprint(len(got.Sessions)), done)
	t.Add("large outputs", fmt.Sprint(got.Blobs), fmt.Sprintf("%s, %d KB", done, kb))
	if got.Leftovers > 0 {
		t.Add("unfinished imports and deletions", fmt.Sprint(got.Leftovers), done)
	}
	if err := a.PrintTable(t); err != nil {
		return err
	}
	for _, id := range got.Sessions {
		if err := a.Print("  " + terminal.OneLine(id) + "\n"); err != nil {
			return err
		}
	}
	if got.Skipped > 0 {
		a.Say("%s in use skipped", view.Plural(got.Skipped, "session"))
	}
	return nil
}
