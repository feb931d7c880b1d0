package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/store"
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
	whole := time.Duration(0)
	for round := range rounds(t) {
		dir := t.TempDir()
		path := filepath.Join(dir, "tenon.db")
		must(t, os.WriteFile(path, data, 0o600))
		if round == 0 {
			whole = howLong(t, "repair", path)
		} else {
			killWhile(t, "repair", path, whole+whole/4)
		}
		s := openAt(t, dir)
		got, damaged := readAll(t, s, "ses_a")
		aside, _ := os.ReadFile(path + ".aside") // there only when it came to that
		if named, kept := len(damaged), bytes.Count(aside, []byte(`"type":"text"`)); len(got) != messages/2 || named != messages/2 && (named != 0 || kept != messages/2) {
			t.Errorf("round %d: %d parts, %d named as damaged, %d set aside", round, len(got), named, kept)
		}
		must(t, s.Close())
	}
}
