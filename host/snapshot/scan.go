package snapshot

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// scan visits the directories of a project, a level at a time, and makes a new state from the previous one. The names in a directory with an
// unchanged stamp are known, and so is the content of a file with an unchanged stamp.
type scan struct {
	r     *Repo
	begun time.Time // later changes may have an old stamp

	read int // files whose content was read
}

// worktree is the working tree of a repository: the project, or one inside of it.
type worktree struct {
	dir  string // absolute, with a separator at the end
	path string // relative to the project; empty, or with a slash at the end
}

// visit is a directory of a scan.
type visit struct {
	parent   *visit
	worktree *worktree
	at       int     // index among its parent's directories
	path     string  // relative to the project; empty, or with a slash at the end
	dir      string  // absolute, with a separator at the end
	old      *node   // the previous state; nil: new
	new      *node   // the current state; nil: the directory does not exist
	own      bool    // the entries of new are not those of old
	reask    bool    // git's lists of ignored files changed, here or above
	fresh    []entry // names that were not there before
}

// look returns the current state.
func (s *scan) look(ctx context.Context, old *node) (*node, error) {
	top := &visit{dir: s.r.worktree + string(filepath.Separator), old: old}
	var all []*visit
	for level := []*visit{top}; len(level) > 0; {
		if err := inParallel(ctx, len(level), func(i int) error { return s.visit(level[i]) }); err != nil {
			return nil, err
		}
		if err := s.admit(ctx, level); err != nil {
			return nil, err
		}
		var next []*visit
		for _, v := range level {
			next = append(next, s.below(v)...)
		}
		all, level = append(all, level...), next
	}
	if top.new == nil {
		return nil, &os.PathError{Op: "read", Path: s.r.worktree, Err: fs.ErrNotExist}
	}
	if err := s.contents(ctx, all); err != nil {
		return nil, err
	}
	for _, v := range slices.Backward(all) {
		if err := s.finish(v); err != nil {
			return nil, err
		}
	}
	return top.new, nil
}

// inParallel calls f for each number below n, a few at a time. It returns the first error; a worker ends with its first.
func inParallel(ctx context.Context, n int, f func(int) error) error {
	errs := make([]error, min(runtime.GOMAXPROCS(0), 8, (n+7)/8))
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() { // ends with the last number; waited for below
			for i := w; i < n && errs[w] == nil; i += len(errs) {
				if errs[w] = ctx.Err(); errs[w] == nil {
					errs[w] = f(i)
				}
			}
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// visit checks a directory and the known files in it.
func (s *scan) visit(v *visit) error {
	info, err := os.Lstat(strings.TrimSuffix(v.dir, string(filepath.Separator)))
	if err != nil || !info.IsDir() {
		return ignoreMissing(err)
	}
	n := &node{Stamp: stampOf(info)}
	n.Settled = n.Stamp.settled(s.begun)
	old := cmp.Or(v.old, nothing)
	unchanged := old.Settled && old.Stamp == n.Stamp
	isTree := v.parent == nil || unchanged && old.Repo
	if !unchanged && !isTree {
		_, err := os.Lstat(v.dir + ".git")
		isTree = err == nil
	}
	if isTree != old.Repo { // other lists of ignored files count
		old, unchanged = nothing, false
	}
	if isTree {
		v.worktree = &worktree{dir: v.dir, path: v.path}
		n.Repo = true
		_, n.Excludes = excludes(v.dir)
	}
	v.reask = v.reask || n.Excludes != old.Excludes || n.Excludes != stamp{} && !n.Excludes.settled(s.begun)
	if !unchanged || old.Rules != (stamp{}) {
		if n.Rules, err = s.rules(v.dir); err != nil {
			return err
		}
		if n.Rules != (stamp{}) && n.Rules.kind() == 0 {
			n.Unreadable, n.Left, v.new = true, 1, n // git would wait for a writer of the pipe
			return nil
		}
		v.reask = v.reask || n.Rules != old.Rules || n.Rules != stamp{} && !n.Rules.settled(s.begun)
	}
	if v.new = n; unchanged && !v.reask && !old.Unreadable {
		return s.known(v, old.Entries)
	}
	return s.list(v, old)
}

// rules returns the stamp of a directory's list of ignored files.
func (s *scan) rules(dir string) (stamp, error) {
	info, err := os.Lstat(dir + ".gitignore")
	if err != nil {
		return stamp{}, ignoreMissing(err)
	}
	return stampOf(info), nil
}

// list reads the names of a directory.
func (s *scan) list(v *visit, old *node) error {
	n := v.new
	list, err := os.ReadDir(v.dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		n.Unreadable, n.Left = true, 1
		return nil
	case err != nil:
		v.new = nil
		return ignoreMissing(err)
	}
	v.own = true
	var known []entry
	for _, e := range list {
		name, kind := e.Name(), e.Type()
		if strings.EqualFold(name, ".git") {
			continue
		}
		dir := kind.IsDir()
		if slices.Contains(s.r.exclude, v.dir+name) {
			known = append(known, entry{Name: name, Dir: dir, Ignored: true, Settled: true})
			continue
		}
		if !dir && !kind.IsRegular() && kind != fs.ModeSymlink {
			known = append(known, entry{Name: name, Settled: true})
			continue
		}
		was := old.find(name)
		if was.Dir == dir && (was.isFile() || was.Node != nil || was.Ignored && !v.reask) {
			known = append(known, *was)
		} else {
			v.fresh = append(v.fresh, entry{Name: name, Dir: dir})
		}
	}
	return s.known(v, known)
}

// known adds the entries of the old state and checks the files among them. As long as they are unchanged, the new list is the old one.
func (s *scan) known(v *visit, list []entry) error {
	l := looker{}
	if slices.ContainsFunc(list, func(e entry) bool { return e.isFile() }) {
		var err error
		if l, err = newLooker(v.dir); err != nil {
			v.new, v.fresh = nil, nil
			return ignoreMissing(err)
		}
		defer l.close()
	}
	for i := range list {
		was := &list[i]
		is, err := was.Stamp, error(nil)
		if was.isFile() {
			is, err = l.stamp(was.Name)
		}
		switch {
		case err == nil && is == was.Stamp && was.Settled && !v.own:
			v.new.Entries = list[: i+1 : i+1] // appending copies it
			continue
		case err == nil:
			s.file(v, *was, is)
		case !isMissing(err):
			return err
		}
		v.own = true
	}
	return nil
}

// file adds the current state of a file. A file with unknown content is in doubt, with its old hash until it is read.
func (s *scan) file(v *visit, was entry, is stamp) {
	kind := is.kind()
	switch {
	case was.Settled && was.Stamp == is:
		v.new.Entries = append(v.new.Entries, was)
	case kind == kindFile || kind == kindLink: // else just replaced by something else; the next scan sees that in the directory's stamp
		v.new.Entries = append(v.new.Entries, entry{Name: was.Name, Stamp: is, Hash: was.Hash, Settled: is.settled(s.begun), doubt: true})
	}
}

// admit asks git about the new names of some directories and adds the names that it does not ignore.
func (s *scan) admit(ctx context.Context, level []*visit) error {
	paths := map[*worktree][]string{}
	for _, v := range level {
		for _, e := range v.fresh {
			paths[v.worktree] = append(paths[v.worktree], strings.TrimPrefix(v.path+e.Name, v.worktree.path))
		}
	}
	ignored := map[*worktree][]bool{}
	for t := range paths {
		var err error
		if ignored[t], err = s.r.ignored(ctx, t.dir, paths[t]); err != nil {
			return err
		}
	}
	for _, v := range level {
		if len(v.fresh) == 0 {
			continue
		}
		n, some := v.new, ignored[v.worktree][:len(v.fresh)]
		ignored[v.worktree] = ignored[v.worktree][len(v.fresh):]
		for i, e := range v.fresh {
			switch {
			case some[i] || e.Dir:
				e.Ignored, e.Settled = some[i], true
				n.Entries = append(n.Entries, e)
			default:
				info, err := os.Lstat(v.dir + e.Name)
				if err == nil {
					s.file(v, e, stampOf(info))
				} else if err := ignoreMissing(err); err != nil {
					return err
				}
			}
		}
		slices.SortFunc(n.Entries, byName)
	}
	return nil
}

// below returns the visits of the directories in a visited one.
func (s *scan) below(v *visit) []*visit {
	if v.new == nil {
		return nil
	}
	var out []*visit
	for i, e := range v.new.Entries {
		if e.isDir() {
			out = append(out, &visit{
				parent: v, worktree: v.worktree, at: i, old: e.Node, reask: v.reask,
				path: v.path + e.Name + "/", dir: v.dir + e.Name + string(filepath.Separator),
			})
		}
	}
	return out
}

// finish completes the node of a directory after its files and directories; an unchanged directory keeps the old node.
func (s *scan) finish(v *visit) error {
	n := v.new
	defer func() {
		if v.parent != nil && v.new != v.old {
			v.parent.set(v.at, v.new)
		}
	}()
	if n == nil || n == v.old {
		return nil
	}
	if v.own {
		n.Entries = slices.DeleteFunc(n.Entries, func(e entry) bool { return e.isDir() && e.Node == nil }) // deleted meanwhile
	}
	n.countLeft()
	old := v.old
	if old != nil && n.Stamp == old.Stamp && n.Rules == old.Rules && n.Settled == old.Settled &&
		n.Repo == old.Repo && n.Excludes == old.Excludes && n.Unreadable == old.Unreadable &&
		(!v.own || slices.Equal(n.Entries, old.Entries)) {
		v.new = old
		return nil
	}
	content, err := n.encode()
	if err != nil || len(content) == 0 && v.parent != nil {
		return err
	}
	n.Hash = hashOf(objectTree, content)
	if old != nil && n.Hash == old.Hash {
		return nil
	}
	return s.r.keep(objectTree, n.Hash, content)
}

// set sets the state of the directory that is the entry with the index.
func (v *visit) set(i int, n *node) {
	if !v.own {
		v.new.Entries, v.own = slices.Clone(v.new.Entries), true
	}
	v.new.Entries[i].Node = n
}
