// Package gitkeep restores the hooks and settings through which git runs programs, if a command changed them: in a repository, its
// submodules and the repositories below it.
//
//	Enter ──► state: a few stats if nothing changed, else from git ──► the command runs
//	Leave ──► the same; changes that could make git run a program are restored and reported
//	EndTurn ──► again, for changes that could not be restored before, and for changes by a process that outlived its command
//
// A change counts as the command's if it happened while commands ran, even if another program made it. Other changes are only reported.
package gitkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// keeper compares the repository of one working tree. Safe for concurrent use.
type keeper struct {
	worktree string
	project  string // the directory that the user works in: worktree, or above it

	mu     sync.Mutex
	active int    // number of running commands
	last   *state // the state before the first running command, or the last state without one; while owed is set, the state before the first command with unrestored changes

	index  stamp    // of the index that was read last
	linked []string // what it lists as repositories

	owed  bool             // differences from last must still be restored
	spans []span           // times in which commands ran, since owed was set; a command that has ended has an open one while a process of it still runs
	locks map[string]stamp // lock files that prevented restoring
}

// tick is how far the times that systems record for files may lag behind the clock.
const tick = 10 * time.Millisecond

// span is a time in which a command ran. A zero from is the time of the earlier state, a zero to is still open.
type span struct{ from, to time.Time }

func (s span) open() bool { return s.to.IsZero() }

func (s span) contains(t time.Time) bool {
	return !t.Before(s.from) && (s.open() || !t.After(s.to))
}

// Enter is Keeper.Enter for one repository.
func (k *keeper) Enter(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := span{from: time.Now().Add(-tick)}
	if k.active++; k.active == 1 && !k.owed {
		s.from, k.spans = time.Time{}, nil
		if k.last == nil || len(k.last.closed) > 0 || !k.last.fresh() {
			k.last = k.read(ctx, nil)
		}
	}
	k.spans = append(k.spans, s)
}

// Leave is Keeper.Leave for one repository.
func (k *keeper) Leave(ctx context.Context, ended bool) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ended { // whose span this is does not matter: together they cover the same time
		i := slices.IndexFunc(k.spans, span.open)
		k.spans[i].to = time.Now()
	}
	if k.active--; k.active > 0 {
		return nil
	}
	if k.last.fresh() {
		k.owed = k.alive()
		return nil
	}
	return k.restore(ctx)
}

// alive reports whether a process of a command that has ended still runs.
func (k *keeper) alive() bool { return slices.ContainsFunc(k.spans, span.open) }

// EndTurn is Keeper.EndTurn for one repository.
func (k *keeper) EndTurn(ctx context.Context) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.active > 0 || k.last == nil {
		return nil
	}
	if !k.owed {
		k.spans = nil // the changes in these spans were compared
	}
	for i := range k.spans {
		if k.spans[i].open() {
			k.spans[i].to = time.Now()
		}
	}
	if k.last.fresh() {
		k.owed = false
		return nil
	}
	return append(brief(k.unlock()), k.restore(ctx)...)
}

// restore restores the last state, in passes: what one of them restores may have hidden other changes. A state becomes the last one after a
// pass that did not restore anything.
func (k *keeper) restore(ctx context.Context) []string {
	k.locks = map[string]stamp{}
	begin := time.Now()
	r := &restorer{k: k, before: k.last, noted: map[string]bool{}, changed: true}
	for left := maxPasses; r.changed && left > 0; left-- {
		r.restore(ctx, left == 1)
		if r.changed || len(r.failures) > 0 {
			k.touched(begin)
		}
	}
	if k.owed = r.changed || len(r.failures) > 0 || k.alive(); !k.owed {
		k.last, r.now.before = r.now, nil
	}
	return append(brief(r.failures), brief(r.notes)...)
}

// brief shortens notes: a command can change any number of files.
func brief(notes []string) []string {
	if more := len(notes) - maxNotes; more > 0 {
		return append(notes[:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return notes
}

// touched makes files that changed since then count as the commands': when tenon removes one name of a file, the time of its other names changes.
func (k *keeper) touched(since time.Time) {
	if len(k.spans) > 0 { // otherwise nothing was restored
		k.spans = append(k.spans, span{since.Add(-tick), time.Now()})
	}
}

// unlock removes lock files that were created while commands ran and still exist.
func (k *keeper) unlock() []string {
	begin := time.Now()
	var notes []string
	for lock, was := range k.locks {
		if now := stampOf(lock); now == was && k.ran(now) {
			err := remove(k.last.rootOf(lock), lock)
			k.touched(begin)
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s could not be removed: %v", k.show(lock), err))
				continue
			}
			notes = append(notes, k.show(lock)+" was removed")
		}
	}
	return notes
}

// ran reports whether commands were running when a file was changed last. They may have been if that is in the future: the clock of a file server
// is ahead of ours, or ours was set back.
func (k *keeper) ran(s stamp) bool {
	return s.Time().After(time.Now()) || slices.ContainsFunc(k.spans, func(span span) bool { return span.contains(s.Time()) })
}

// restorer restores an earlier state of a repository.
type restorer struct {
	k           *keeper
	before, now *state
	notes       []string
	noted       map[string]bool // what notes are about

	// Of the last pass:
	changed  bool     // something was restored
	failures []string // notes about changes that could not be restored
}

// note adds a note. Later passes add none about the same thing.
func (r *restorer) note(what, verb string) {
	if !r.noted[what] {
		r.noted[what] = true
		r.notes = append(r.notes, what+" "+verb)
	}
}

// put calls do, which restores a file, and notes the result. It leaves a change that another process made while no command ran.
func (r *restorer) put(what, path string, do func() error) { r.change(what, path, "was put back", do) }

// change is put with the verb of the note about a success.
func (r *restorer) change(what, path, verb string, do func() error) {
	if r.now.stamps[path].Changed == 0 { // it was not read, or is a directory of which only the identity is known
		r.now.stamps[path] = stampOf(path)
	}
	switch {
	case !r.ran(path):
		r.note(what, "was changed by another process, and left alone")
		return
	case r.before.hidden(path):
		r.note(what, "was left alone, because its directory could not be listed before the command")
		return
	}
	if err := do(); err != nil {
		if lock := path + lockSuffix; errors.Is(err, errMeanwhile) && stampOf(lock) != (stamp{}) {
			r.k.locks[lock] = stampOf(lock)
		}
		r.failures = append(r.failures, fmt.Sprintf("%s was changed and could not be put back: %v", what, err))
		return
	}
	r.changed = true
	r.note(what, verb)
}

// ran reports whether commands were running when a file, or the file that a link in its place leads to, was changed last.
func (r *restorer) ran(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if s, known := r.now.stamps[real]; known && r.k.ran(s) {
			return true
		}
	}
	return r.k.ran(r.now.stamps[path])
}

// setAside renames a changed hook whose earlier text is unknown, so that git does not run it.
func (r *restorer) setAside(root, path string) {
	what := r.k.show(path) + ", which has no copy because it was too large or not readable,"
	if stampOf(path) == (stamp{}) {
		r.note(what, "was removed")
		return
	}
	to := aside(path)
	r.change(what, path, "was changed and is now "+filepath.Base(to), func() error {
		err := rename(root, path, to)
		if err == nil { // neither is restored later
			delete(r.before.hooks, path)
			r.before.hooks[to] = r.now.readHook(to, maxHook)
			r.before.stamps[to] = r.now.stamps[to]
		}
		return err
	})
}

// restore is one pass: it restores what differs as far as one read shows it.
func (r *restorer) restore(ctx context.Context, last bool) {
	r.now, r.changed, r.failures = r.k.read(ctx, r.before), false, nil
	for _, find := range []func(){r.access, r.pointers, r.links} {
		if find(); r.changed && !last {
			return // the directories and files that git uses may be others now
		}
	}
	if r.now.err != nil || r.before.err != nil {
		r.unreadable()
	}
	if r.now.err == nil {
		r.settings(ctx)
	}
	r.hooks()
	for dir, err := range r.now.closed {
		if r.before.closed[dir] == nil {
			r.failures = append(r.failures, fmt.Sprintf("%s could not be listed: %v", r.k.show(dir), err))
		}
	}
}

// access restores the owner's permissions for directories, and gives all of them for new ones: git runs hooks in a directory that cannot be
// listed, and nothing can be restored in it.
func (r *restorer) access() {
	for _, dir := range slices.Sorted(maps.Keys(r.now.modes)) { // sorted, so that a directory comes after the one that it is in
		is := r.now.modes[dir]
		mode, root := cmp.Or(r.before.modes[dir], is|0o700), r.before.rootOf(dir)
		if mode&^is&0o700 == 0 || !projectfs.Inside(root, dir) {
			continue
		}
		r.put("access to "+r.k.show(dir), dir, func() error {
			if dir == root { // cannot be opened either
				return os.Chmod(dir, mode)
			}
			return inRoot(root, dir, func(in *os.Root, rel string) error { return in.Chmod(rel, mode) })
		})
	}
}

// pointers restores the files that name another directory as the repository: .git of a linked working tree or of a submodule, and commondir in
// git directories. A file that leads to where git makes it lead, or to a directory that is compared, may be new, as after git worktree add.
func (r *restorer) pointers() {
	switch path := filepath.Join(r.k.worktree, ".git"); {
	case r.before.link != "" && r.before.link != r.now.link, r.now.toFile && !r.before.toFile:
		r.putText(path, r.before.link)
	}
	for path, is := range r.now.pointers {
		was, isTree := r.before.pointers[path].text, filepath.Base(path) == ".git"
		name, hasPrefix := strings.CutPrefix(is.text, "gitdir: ")
		to := projectfs.Pointed(filepath.Dir(path), name)
		switch known := !strings.HasPrefix(was, "\x00"); {
		case is.text == was, hasPrefix == isTree && (to == is.to || isTree && slices.Contains(r.now.dirs, to)):
		case known && (was != "" || !isTree):
			r.putText(path, was)
		default:
			r.putAside(path, "it led to another repository")
		}
	}
}

// links removes what newly makes a directory elsewhere a git directory: .git, or a link below one. That may be another repository of the user, in
// which nothing is changed.
func (r *restorer) links() {
	for _, dir := range r.now.dirs {
		if slices.Contains(r.before.dirs, dir) && r.before.same(dir) || projectfs.Within(projectfs.Real(r.before.rootOf(dir)), projectfs.Real(dir)) {
			continue
		}
		path := filepath.Join(r.k.worktree, ".git")
		for _, own := range r.before.dirs[:r.before.own] {
			for ; dir != own && projectfs.Inside(own, dir); dir = filepath.Dir(dir) {
				if stampOf(dir).Mode&os.ModeSymlink != 0 {
					path = dir
				}
			}
		}
		if r.before.same(path) {
			continue
		}
		r.change(r.k.show(path)+", which led to another repository,", path, "was removed", func() error { return inRoot(r.before.rootOf(path), path, (*os.Root).Remove) })
	}
}

// putText restores the text of a file; the empty one removes it.
func (r *restorer) putText(path, text string) {
	r.put(r.k.show(path), path, func() error {
		switch root, was := r.before.rootOf(path), r.now.stamps[path]; {
		case text != "":
			return replace(root, path, []byte(text), was)
		case stampOf(path) != was:
			return errMeanwhile
		default:
			return remove(root, path)
		}
	})
}

// unreadable restores whole files, because git cannot read the settings now, or could not before. If there are none, it renames new ones in git
// directories.
func (r *restorer) unreadable() {
	for path, text := range r.before.raw {
		if r.before.stamps[path] != stampOf(path) {
			r.putText(path, text)
		}
	}
	if r.changed || len(r.failures) > 0 || r.before.err != nil { // without the settings, it is unknown which files are new
		return
	}
	for _, path := range slices.Sorted(maps.Keys(r.now.settings)) {
		if is := stampOf(path); r.before.stamps[path] == (stamp{}) && is != (stamp{}) && slices.Contains(r.now.dirs, filepath.Dir(path)) {
			r.putAside(path, "git can no longer read its settings")
		}
	}
	if !r.changed && len(r.failures) == 0 {
		r.failures = append(r.failures, fmt.Sprintf("git's configuration can no longer be read: %v", r.now.err))
	}
}

// putAside renames a new file, so that git does not use it.
func (r *restorer) putAside(path, why string) {
	to := aside(path)
	r.change(r.k.show(path), path, "was put aside as "+filepath.Base(to)+", because "+why, func() error {
		return rename(r.before.rootOf(path), path, to)
	})
}

// settings restores settings that may run programs, file by file.
func (r *restorer) settings(ctx context.Context) {
	for path := range union(r.before.settings, r.now.settings) {
		was, is := r.before.settings[path], r.now.settings[path]
		if dir := filepath.Dir(path); slices.Contains(r.now.dirs, dir) && !r.before.same(dir) || slices.Contains(r.before.dirs, dir) && !r.before.same(dir) {
			was = nil // a repository that the command created has no settings of the user
		} else if r.before.err != nil {
			continue // the settings are unknown, see unreadable
		}
		var keys []string
		for key := range union(was, is) {
			if !slices.Equal(was[key], is[key]) && !r.harmless(path, key) {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		slices.Sort(keys)
		what := fmt.Sprintf("%s in %s", strings.Join(keys, ", "), r.k.show(path))
		r.put(what, path, func() error {
			if len(is) == 0 || r.noted[what] && r.before.raw[path] != "" { // the file is gone, or included twice, so that git listed each value twice
				return replace(r.before.rootOf(path), path, []byte(r.before.raw[path]), stampOf(path))
			}
			text, err := r.k.rewritten(ctx, r.now, path, keys, was)
			if err != nil {
				return err
			}
			return replace(r.before.rootOf(path), path, text, r.now.stamps[path])
		})
	}
}

// harmless reports whether a command may change a setting of a file. When git creates a submodule, it sets core.worktree to a directory of
// the project.
func (r *restorer) harmless(path, key string) bool {
	if key == "core.worktree" && slices.Contains(r.now.dirs[r.now.own:], filepath.Dir(path)) {
		return !slices.ContainsFunc(r.now.settings[path][key], func(value string) bool {
			dir := projectfs.Follow(filepath.Dir(path), value)
			real, err := filepath.EvalSymlinks(dir)
			return !projectfs.Inside(r.k.worktree, dir) || err == nil && !projectfs.Inside(r.k.worktree, real)
		})
	}
	return listed(key)
}

// union returns a map with the keys of both.
func union[V any](a, b map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// hooks restores hooks, and the files of the project that links among them lead to.
func (r *restorer) hooks() {
	for dir, all := range r.before.hookDirs {
		if owner := r.owner(dir); !r.now.isHookDir(dir) && (owner == "" || r.before.same(owner)) { // the directory was removed, or core.hooksPath names another one
			r.now.readHooks(dir, all)
		}
	}
	isDir := func(path string) bool { return r.before.isHookDir(path) || r.now.isHookDir(path) }
	for _, path := range slices.Sorted(maps.Keys(union(r.before.hooks, r.now.hooks))) { // sorted, so that links in place of directories come before their contents
		dir := path
		if !isDir(path) {
			dir = filepath.Dir(path)
		}
		owner := r.owner(path)
		was, known := r.before.hooks[path]
		is, seen := r.now.hooks[path]
		switch {
		case owner != "" && !r.before.same(owner):
			was, seen = hook{}, true // a repository that the command created has no hooks of the user
		case r.before.below(path):
			continue // it is removed with the directory, which replaced a file or a link
		case owner == "" && !r.before.isHookDir(dir) && (!known || was.unread != stamp{}):
			continue // named by the command's core.hooksPath, which is restored, or without a copy
		}
		if !seen {
			is = r.now.readHook(path, maxFile)
		}
		switch root := r.before.rootOf(dir); {
		case was == is:
		case was.unread != stamp{}:
			r.setAside(root, path)
		default:
			r.put(r.k.show(path), path, func() error { return putHook(root, path, was, path != dir && isDir(dir)) })
		}
	}
}

// owner returns the git directory that a hook belongs to; empty if core.hooksPath or a link leads to it.
func (r *restorer) owner(path string) string {
	for parent := filepath.Dir(path); parent != path; path, parent = parent, filepath.Dir(parent) {
		if filepath.Base(path) == "hooks" && (slices.Contains(r.now.dirs, parent) || slices.Contains(r.before.dirs, parent)) {
			return parent
		}
	}
	return ""
}

// below reports whether there was a hook, or a link in place of a directory of hooks, with the name of a directory above a path.
func (s *state) below(path string) bool {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if s.hooks[dir] != (hook{}) {
			return true
		}
	}
	return false
}

// putHook restores one hook below root; the zero value removes it. If it is in a directory of hooks, a link in place of that is removed.
func putHook(root, path string, old hook, inDir bool) error {
	parent := filepath.Dir(path)
	if info, err := os.Lstat(parent); err == nil && !info.IsDir() && inDir {
		if err := inRoot(root, parent, (*os.Root).Remove); err != nil {
			return err
		}
	}
	return inRoot(root, path, func(r *os.Root, rel string) error {
		if err := r.RemoveAll(rel); err != nil || old == (hook{}) {
			return err
		}
		if err := r.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
			return err
		}
		if old.link != "" {
			return r.Symlink(old.link, rel)
		}
		chmod := func(f *os.File) error { return f.Chmod(old.mode.Perm()) }
		return atomicfile.WriteIn(r, rel, []byte(old.text), atomicfile.Options{Prepare: chmod})
	})
}

// show returns a path for messages.
func (k *keeper) show(path string) string {
	if projectfs.Inside(k.project, path) {
		path, _ = filepath.Rel(k.project, path) // both are absolute
	}
	return path
}
