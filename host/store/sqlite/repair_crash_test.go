package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// repairChild repairs a session; what is set aside goes into a file beside the database.
func repairChild(ctx context.Context, path string) error {
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	fmt.Println("repairing")
	err = s.Repair(ctx, "ses_a", func(rows []store.Aside) error {
		var b bytes.Buffer
		for _, row := range rows {
			b.Write(row.Data)
		}
		return os.WriteFile(path+".aside", b.Bytes(), 0o600)
	})
	if err != nil {
		return err
	}
	return s.Close()
}

func rebuildChild(ctx context.Context, path string) error {
	fmt.Println("rebuilding")
	_, err := Rebuild(ctx, Options{Path: path})
	return err
}

// killed yields rounds, each with the directory of a copy of a database in which a command ran: to its end in round 0, killed in the others.
func killed(t *testing.T, command string, data []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		whole := time.Duration(0)
		for round := range rounds(t) {
			dir := t.TempDir()
			path := filepath.Join(dir, "tenon.db")
			must(t, os.WriteFile(path, data, 0o600))
			if round == 0 {
				whole = howLong(t, command, path)
			} else {
				killWhile(t, command, path, whole+whole/4)
			}
			if !yield(round, dir) {
				return
			}
		}
	}
}

// A repair that is killed leaves each damaged row where it was, or removed and set aside.
func TestCrashRepair(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	const messages = 200
	base := t.TempDir()
	long(t, base, messages)
	data, err := os.ReadFile(filepath.Join(base, "tenon.db"))
	must(t, err)
	for n := range messages / 2 {
		data = bytes.ReplaceAll(data, []byte(content("ses_a", n)[:12]), append([]byte(content("ses_a", n)[:11]), 1))
	}
	for round, dir := range killed(t, "repair", data) {
		s := openAt(t, dir)
		got, damaged := readAll(t, s, "ses_a")
		aside, _ := os.ReadFile(filepath.Join(dir, "tenon.db.aside")) // there only when it came to that
		if named, kept := len(damaged), bytes.Count(aside, []byte(`"type":"text"`)); len(got) != messages/2 || named != messages/2 && (named != 0 || kept != messages/2) {
			t.Errorf("round %d: %d parts, %d named as damaged, %d set aside", round, len(got), named, kept)
		}
		must(t, s.Close())
	}
}

// A rebuild that is killed leaves the damaged database as it was, or the new one with the damaged one beside it.
func TestCrashRebuild(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	base := t.TempDir()
	long(t, base, 60)
	path := filepath.Join(base, "tenon.db")
	overwrite(t, path, pagesWith(t, path, content("ses_a", 30))[0], make([]byte, 4096))
	data, err := os.ReadFile(path)
	must(t, err)
	s := openAt(t, base)
	want, damaged := readAll(t, s, "ses_a")
	must(t, s.Close())
	for round, dir := range killed(t, "rebuild", data) {
		s := openAt(t, dir)
		got, named := readAll(t, s, "ses_a")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("round %d (-want +got):\n%s", round, d)
		}
		kept := false
		for _, name := range filesIn(t, dir) {
			kept = kept || strings.HasPrefix(name, "tenon.db.damaged-")
			if strings.Contains(name, rebuildSuffix) {
				t.Errorf("round %d: %s is left after the next start", round, name)
			}
		}
		if len(named) != 0 && len(named) != len(damaged) || len(named) == 0 && !kept {
			t.Errorf("round %d: %d rows named, the damaged file kept: %t", round, len(named), kept)
		}
		var mode string
		must(t, s.submit(t.Context(), func(x *database.Tx) { x.First("PRAGMA journal_mode", func(r database.Row) { mode = r.Text(0) }) }))
		if mode != "wal" {
			t.Errorf("round %d: the journal is %q, want wal", round, mode)
		}
		must(t, s.Close())
		if _, err := Rebuild(t.Context(), Options{Path: filepath.Join(dir, "tenon.db")}); err != nil {
			t.Errorf("round %d: once more: %v", round, err)
		}
	}
}
