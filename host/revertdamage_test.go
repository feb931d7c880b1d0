package host_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
)

// A revert with damaged rows would silently leave files unchanged, so it is refused. Damage before the reverted messages does not matter.
func TestRevertOfDamagedRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file    string // whose patch is damaged
		refused bool
	}{
		"in the reverted turn": {"second.txt", true},
		"in the turn before":   {"first.txt", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, data := newWorktree(t), t.TempDir()
			k := startWork(t, w, data, nil)
			id := k.session()
			k.turn(id, k.bash, func() { k.write("first.txt", "1") })
			k.turn(id, k.bash, func() { k.write("second.txt", "2") })
			k.close()
			path := filepath.Join(data, "tenon.db")
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			patch := []byte(c.file + `"],`)
			if !bytes.Contains(content, patch) {
				t.Fatalf("%s is not in the store", patch)
			}
			if err := os.WriteFile(path, bytes.ReplaceAll(content, patch, append(patch[:len(patch)-1:len(patch)-1], 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			k = startWork(t, w, data, nil)
			_, err = k.Revert(t.Context(), host.RevertOptions{SessionID: id})
			_, statErr := os.Stat(k.path("second.txt"))
			if c.refused != errors.Is(err, store.ErrCorrupt) || c.refused != (statErr == nil) || !c.refused && err != nil {
				t.Errorf("Revert() = %v, second.txt: %v; want it refused: %t", err, statErr, c.refused)
			}
		})
	}
}

// A change by a tool that announced a relative name can be undone, too.
func TestRevertRelativeName(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	k.write("a.txt", "one")
	id := k.session()
	k.turn(id, k.edit, func() { k.write("a.txt", "two") }, "a.txt")
	k.revert(host.RevertOptions{SessionID: id})
	k.is("after revert", map[string]string{"a.txt": "one"})
}

// A fork undoes the changes of a subagent also if another row of that is damaged. The damage is reported.
func TestForkWithDamagedSubagent(t *testing.T) {
	t.Parallel()
	w, data := newWorktree(t), t.TempDir()
	k := startWork(t, w, data, nil)
	id := k.session()
	k.delegate(id, func() { k.write("a.txt", "new") })
	k.close()
	path := filepath.Join(data, "tenon.db")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(`"text":"helper answered"`)
	if err := os.WriteFile(path, bytes.ReplaceAll(content, text, append(text[:len(text)-1:len(text)-1], 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	k = startWork(t, w, data, nil)
	fork, err := k.Fork(t.Context(), id, "")
	if !errors.Is(err, store.ErrCorrupt) || fork == nil {
		t.Fatalf("Fork() = %v, %v, want a fork and the damage", fork, err)
	}
	k.revert(host.RevertOptions{SessionID: fork.ID})
	k.is("after the revert", map[string]string{})
}
