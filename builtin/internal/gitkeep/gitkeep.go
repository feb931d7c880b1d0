// Package gitkeep keeps what git runs by itself in a repository (settings that name programs, hooks) as it was before a command.
//
//	Enter ──► state: a few stats while nothing changed, else git is asked ──► the command runs
//	Leave ──► the same; what differs and could make git run something is put back and named
//	EndTurn ──► once more: what could not be put back before, and what a process that outlived its command changed
//
// A change counts as the command's when it happened while commands ran. So what another program changes in the same moment is put back
// as well, and named; what it changes at another time is left alone, and only named.
package gitkeep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Keeper watches the repository of one working tree. Safe for use from many goroutines.
type Keeper struct {
	worktree string
	environ  []string // of git

	mu     sync.Mutex
	active int       // commands that run
	since  time.Time // when the first of those began
	alive  bool      // a process of one that ended could not be ended
	last   *state    // when nothing ran, or as the first of those began; while something is owed, as the first command began that owes it

	owed  bool             // something differs from last that is to be put back
	spans []span           // when commands ran, since something is owed
	locks map[string]stamp // that kept files from being put back
}

// span is a time in which commands ran. The zero from is the time of the state that is compared with, the zero to has not come yet.
type span struct{ from, to time.Time }

func (s span) contains(t time.Time) bool {
	return !t.Before(s.from) && (s.to.IsZero() || !t.After(s.to))
}

// New returns the keeper of a working tree. environ is the environment that git is asked in, without variables that change what it reads.
func New(worktree string, environ []string) *Keeper {
	clean := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, "GIT_") })
	return &Keeper{worktree: worktree, environ: append(clean, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")}
}

// Enter notes the state before a command. Each call is followed by one of Leave.
func (k *Keeper) Enter(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.active++; k.active > 1 {
		return
	}
	if k.owed {
		k.since = clock()
		return
	}
	k.since, k.alive, k.spans = time.Time{}, false, nil
	if k.last == nil || !k.last.fresh() {
		k.last = k.read(ctx, true)
	}
}

// Leave compares after a command, and puts back. ended is false if a process of the command could not be ended: what changes until the
// end of the turn counts as its work then. When several commands overlap, the last one does. It returns what it did, for people.
func (k *Keeper) Leave(ctx context.Context, ended bool) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.alive = k.alive || !ended
	if k.active--; k.active > 0 {
		return nil
	}
	s := span{from: k.since}
	if !k.alive {
		s.to = time.Now()
	}
	k.spans = append(k.spans, s)
	if k.last.fresh() {
		k.owed = k.alive
		return nil
	}
	return k.restore(ctx)
}

// EndTurn puts back what the commands of a turn still owe. What else differs from the state that the last command left was no command's
// work: it stays. It returns what it did and what stays, for people; nothing while commands run.
func (k *Keeper) EndTurn(ctx context.Context) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.active > 0 || k.last == nil {
		return nil
	}
	if !k.owed {
		k.spans = nil // all of that was compared
	}
	for i := range k.spans {
		if k.spans[i].to.IsZero() {
			k.spans[i].to = time.Now()
		}
	}
	k.alive = false
	if k.last.fresh() {
		k.owed = false
		return nil
	}
	return append(k.unlock(), k.restore(ctx)...)
}

// restore puts back what differs from the last state.
func (k *Keeper) restore(ctx context.Context) []string {
	k.locks = map[string]stamp{}
	r := &restorer{k: k, before: k.last, now: k.read(ctx, false)}
	notes := r.restore(ctx)
	if k.owed = r.failed || k.alive; k.owed {
		return notes
	}
	k.last = r.now
	if len(notes) > 0 {
		k.last = k.read(ctx, true)
	}
	return notes
}

// unlock removes locks that commands left behind: they came while commands ran, and nobody has released them since.
func (k *Keeper) unlock() []string {
	var notes []string
	for lock, was := range k.locks {
		if now := stampOf(lock); now == was && k.ran(now) {
			if err := remove(k.rootOf(k.last, lock), lock); err != nil {
				notes = append(notes, fmt.Sprintf("%s could not be removed: %v", k.show(lock), err))
				continue
			}
			notes = append(notes, k.show(lock)+" was removed")
		}
	}
	return notes
}

// ran reports whether commands ran when a file changed last.
func (k *Keeper) ran(s stamp) bool {
	return slices.ContainsFunc(k.spans, func(span span) bool { return span.contains(s.changed()) })
}

// restorer brings a repository back from one state to an earlier one.
type restorer struct {
	k           *Keeper
	before, now *state
	notes       []string
	failed      bool // something could not be put back
}

func (r *restorer) note(what, verb string) { r.notes = append(r.notes, what+" "+verb) }

// put does what puts something back, and names it. What another process changed, at a time when no command ran, stays.
func (r *restorer) put(what, path string, do func() error) {
	if !r.k.ran(r.now.stamps[path]) {
		r.note(what, "was changed by another process, and left alone")
		return
	}
	if err := do(); err != nil {
		r.failed = true
		if lock := path + lockSuffix; errors.Is(err, errMeanwhile) && stampOf(lock) != (stamp{}) {
			r.k.locks[lock] = stampOf(lock)
		}
		r.note(what, fmt.Sprintf("was changed and could not be put back: %v", err))
		return
	}
	r.note(what, "was put back")
}

func (r *restorer) restore(ctx context.Context) []string {
	r.k.load(ctx, r.before)
	if r.link() {
		r.now = r.k.read(ctx, false)
	}
	switch {
	case r.now.err == nil:
		r.settings(ctx)
	case r.before.err == nil:
		r.unreadable()
	}
	r.hooks()
	return r.notes
}

// link puts back the file .git of a linked working tree, which names the repository, and reports whether it had to.
func (r *restorer) link() bool {
	path := filepath.Join(r.k.worktree, ".git")
	if r.before.link == "" || r.before.link == r.now.link {
		return false
	}
	r.put(".git", path, func() error { return replace(r.k.worktree, path, []byte(r.before.link), 0o644, r.now.stamps[path]) })
	return true
}

// unreadable puts whole files back: git cannot read them any more.
func (r *restorer) unreadable() {
	restored := false
	for path, text := range r.before.raw {
		if r.before.stamps[path] != stampOf(path) {
			restored = true
			r.put(r.k.show(path), path, func() error { return replace(r.k.rootOf(r.before, path), path, text, 0o644, stampOf(path)) })
		}
	}
	if !restored {
		r.note("git's configuration", fmt.Sprintf("cannot be read any more: %v", r.now.err))
	}
}

// settings puts back settings that may run programs, file by file.
func (r *restorer) settings(ctx context.Context) {
	files := map[string]bool{}
	before := r.before
	if !before.sameRepository(r.now) {
		before = &state{} // a repository made by the command has nothing that is the user's
	}
	for _, s := range []*state{before, r.now} {
		for path := range s.settings {
			files[path] = true
		}
	}
	for path := range files {
		was, is := before.settings[path], r.now.settings[path]
		var keys []string
		for key := range union(was, is) {
			if !harmless(key) && !slices.Equal(was[key], is[key]) {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		slices.Sort(keys)
		what := fmt.Sprintf("%s in %s", strings.Join(keys, ", "), r.k.show(path))
		r.put(what, path, func() error {
			if len(is) == 0 { // the file is gone
				return replace(r.k.rootOf(r.now, path), path, before.raw[path], 0o644, stampOf(path))
			}
			return r.k.rewrite(ctx, r.now, path, keys, was)
		})
	}
}

func union(a, b map[string][]string) map[string]bool {
	out := map[string]bool{}
	for _, m := range []map[string][]string{a, b} {
		for key := range m {
			out[key] = true
		}
	}
	return out
}

// hooks puts back the files in the directories of hooks.
func (r *restorer) hooks() {
	same := r.before.sameRepository(r.now)
	for _, dir := range r.now.dirs {
		path := filepath.Join(dir, "hooks")
		was, is := r.before.hooks[path], r.now.hooks[path]
		if !same {
			was = nil
		}
		names := map[string]bool{}
		for name := range was {
			names[name] = true
		}
		for name := range is {
			names[name] = true
		}
		for name := range names {
			old, file := was[name], filepath.Join(path, name)
			if old == is[name] {
				continue
			}
			r.put(r.k.show(file), file, func() error { return putHook(dir, name, old) })
		}
	}
}

// putHook puts one hook back; the zero value removes it. The name "." is the directory of hooks, where it is none; that it became a link is
// undone before any hook is written.
func putHook(dir, name string, old hook) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	path := filepath.Join("hooks", name)
	if info, err := root.Lstat("hooks"); err == nil && !info.IsDir() {
		if err := root.Remove("hooks"); err != nil {
			return err
		}
	} else if name != "." || old.link != "" {
		if err := root.RemoveAll(path); err != nil {
			return err
		}
	}
	switch {
	case old == hook{}:
		return nil
	case name == ".":
		return root.Symlink(old.link, path)
	}
	if err := root.MkdirAll("hooks", 0o755); err != nil {
		return err
	}
	if old.link != "" {
		return root.Symlink(old.link, path)
	}
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, old.mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.WriteString(old.text)
	return errors.Join(err, f.Chmod(old.mode.Perm()), f.Close())
}

// show returns a path as people know it.
func (k *Keeper) show(path string) string {
	if rel, err := filepath.Rel(k.worktree, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// rootOf returns the directory that a file of the repository is written below.
func (k *Keeper) rootOf(s *state, path string) string {
	for _, dir := range s.dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return dir
		}
	}
	return k.worktree
}
