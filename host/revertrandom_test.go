package host_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host"
)

// rounds is how many rounds a random test takes.
func rounds(t testing.TB, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	switch {
	case text == "" && testing.Short():
		return usual / 10
	case text == "":
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// A session and its user edit side by side. After revert and unrevert everything is as it was, and what the session did not touch
// stays as the user left it all the time.
func TestRevertRandom(t *testing.T) {
	t.Parallel()
	k := newWork(t, nil)
	for round := range rounds(t, "TENON_REVERT_ROUNDS", 50) {
		k.randomRound(rand.New(rand.NewPCG(1, uint64(round))), round)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

func (k *work) randomRound(r *rand.Rand, round int) {
	id := k.session()
	start := k.everything()
	mine := map[string]bool{}
	turns := 1 + r.IntN(3)
	for step := range turns {
		user := rand.New(rand.NewPCG(uint64(round), uint64(step)))
		content := fmt.Sprintf("session %d %d\r\n", round, step)
		if r.IntN(3) > 0 {
			k.turn(id, k.bash, func() { // the files that a command writes are unknown, so the user waits
				for range 1 + r.IntN(4) {
					name := fmt.Sprintf("session/%d/%d.txt", r.IntN(3), r.IntN(6))
					mine[name] = true
					k.scribble(r, name, content)
				}
			})
		} else { // an edit says what it writes, so the user need not
			name := fmt.Sprintf("session/edited/%d.txt", r.IntN(6))
			mine[name] = true
			k.turn(id, k.edit, func() {
				var wg sync.WaitGroup
				wg.Go(func() { k.userEdits(user, round, step) })
				k.write(name, content)
				wg.Wait()
			}, k.path(name))
		}
		k.userEdits(user, round, step)
	}
	end := k.everything()
	want := map[string]string{}
	for name, content := range end {
		if !mine[name] {
			want[name] = content
		}
	}
	for name, content := range start {
		if mine[name] {
			want[name] = content
		}
	}
	if r.IntN(2) == 0 {
		k.revert(host.RevertOptions{SessionID: id, MessageID: k.messages(id)[0].Info.Head().ID})
	} else {
		states := []map[string]string{end} // by the number of undone prompts
		for range turns {                  // one after another
			k.revert(host.RevertOptions{SessionID: id})
			states = append(states, k.everything())
		}
		redone := r.IntN(turns + 1)
		for i := range redone {
			k.revert(host.RevertOptions{SessionID: id, Redo: true})
			k.same("after redo", k.everything(), states[turns-1-i])
		}
		for range redone {
			k.revert(host.RevertOptions{SessionID: id})
		}
	}
	k.same("after revert", k.everything(), want)
	extra := fmt.Sprintf("user/late%d.txt", r.IntN(3))
	k.write(extra, "late")
	k.unrevert(id)
	got := k.everything()
	end[extra] = got[extra]
	k.same("after unrevert", got, end)
}

// userEdits is what the user does meanwhile.
func (k *work) userEdits(r *rand.Rand, round, step int) {
	for i := range r.IntN(4) {
		k.scribble(r, fmt.Sprintf("user/%d/%d.txt", r.IntN(3), r.IntN(6)), fmt.Sprintf("user %d %d %d\n", round, step, i))
	}
}

// scribble rewrites a file, makes it a link, changes its permissions or removes it.
func (k *work) scribble(r *rand.Rand, name, content string) {
	_, err := os.Lstat(k.path(name))
	kind := r.IntN(6)
	if err == nil && (kind < 2 || r.IntN(3) == 0) {
		k.remove(name)
		if kind == 0 {
			return
		}
	}
	if kind == 1 && runtime.GOOS != "windows" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(k.path(name)), 0o755), os.Symlink(fmt.Sprintf("../../nowhere/%d", r.IntN(3)), k.path(name))); err != nil {
			k.worktree.t.Error(err)
		}
		return
	}
	if info, err := os.Lstat(k.path(name)); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return // what it points to is not there
	}
	k.write(name, content)
	if kind == 2 {
		if err := os.Chmod(k.path(name), []os.FileMode{0o755, 0o600, 0o644}[r.IntN(3)]); err != nil {
			k.worktree.t.Error(err)
		}
	}
}

// everything is every file and link by its name, with permissions and content.
func (w *worktree) everything() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(w.dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content string
		if info.Mode()&os.ModeSymlink != 0 {
			content, err = os.Readlink(name)
		} else {
			var b []byte
			b, err = os.ReadFile(name)
			content = string(b)
		}
		rel, relErr := filepath.Rel(w.dir, name)
		out[filepath.ToSlash(rel)] = info.Mode().String() + " " + content
		return errors.Join(err, relErr)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *worktree) same(what string, got, want map[string]string) {
	w.t.Helper()
	for name, content := range want {
		if is, ok := got[name]; !ok || is != content {
			w.t.Errorf("%s: %s = %q, %t, want %q", what, name, is, ok, content)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			w.t.Errorf("%s: %s is there and should not", what, name)
		}
	}
}
