package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

func TestNode(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tenon.db-nodes")
	a, b := New(dir), New(dir)
	wantLives := func(what string, n *Node, id string, want bool) {
		t.Helper()
		if got := n.Lives(id); got != want {
			t.Errorf("%s: lives = %v, want %v", what, got, want)
		}
	}
	wantLives("itself, without a lock", a, a.ID, true)
	wantLives("another without a lock", a, b.ID, false)
	wantLives("the empty identifier", a, "", false)
	must(t, a.Hold())
	must(t, a.Hold())
	wantLives("another with a lock", b, a.ID, true)
	for range 2 { // asking must not change the answer
		wantLives("another that asks", b, a.ID, true)
	}

	const dead, alsoDead = "0dead", "zdead"
	must(t, os.WriteFile(a.file(dead), nil, 0o600))
	must(t, os.WriteFile(a.file(alsoDead), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o600))
	wantLives("a dead one that left its file", b, dead, false)
	asks := flock.New(a.file(dead), flock.SetFlag(os.O_RDONLY))
	if ok, err := asks.TryRLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	wantLives("a dead one that another node asks about", b, dead, false)
	must(t, asks.Unlock())
	must(t, b.Hold())
	for _, id := range []string{dead, alsoDead} {
		if _, err := os.Stat(a.file(id)); !os.IsNotExist(err) {
			t.Errorf("file of dead node %s: %v, want it removed", id, err)
		}
	}
	wantLives("another after b swept", b, a.ID, true)
	must(t, a.Drop())
	must(t, a.Drop())
	wantLives("one that was dropped", b, a.ID, false)
	must(t, b.Drop())
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != "README" {
		t.Errorf("left in the folder: %v", entries)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
