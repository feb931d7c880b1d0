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

	inner []string // repositories inside of the project, with a slash at the end
	read  int      // files whose content was read
}

// visit is a directory of a scan.
type visit struct {
	parent *visit
	at     int     // index among its parent's directories
	path   string  // relative to the project; empty, or with a slash at the end
	dir    string  // absolute, with a separator at the end
	old    *node   // the previous state; nil: new
	new    *node   // the current state; nil: the directory does not exist
	reask  bool    // git's lists of ignored files changed, here or above
	fresh  []entry // names that were not there before
}

// look returns the current state. newRules reports that git ignores other files than in the old state.
func (s *scan) look(ctx context.Context, old *node, newRules bool) (*node, error) {
	top := &visit{dir: s.r.worktree + string(filepath.Separator), old: old, reask: newRules}
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
	old := v.old
	if old == nil {
		old = nothing
	}
	unchanged := old.Settled && old.Stamp == n.Stamp
	if unchanged && old.Opaque == repository {
		v.new = old
		return nil
	}
	if !unchanged || old.Rules != (stamp{}) {
		if n.Rules, err = s.rules(v.dir); err != nil {
			return err
		}
		if n.Rules != (stamp{}) && n.Rules.kind() == 0 {
			n.Opaque, n.Left, v.new = unreadable, 1, n // git would wait for a writer of the pipe
			return nil
		}
		v.reask = v.reask || n.Rules != old.Rules || n.Rules != stamp{} && !n.Rules.settled(s.begun)
	}
	if unchanged && !v.reask && old.Opaque == notOpaque {
		n.Dirs, n.Ignored, n.Others = slices.Clone(old.Dirs), old.Ignored, old.Others
		v.new = n
		return s.known(v, old.Files)
	}
	v.new = n
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
		n.Opaque, n.Left = unreadable, 1
		return nil
	case err != nil:
		v.new = nil
		return ignoreMissing(err)
	}
	var known []file
	for _, e := range list {
		name, kind := e.Name(), e.Type()
		if strings.EqualFold(name, ".git") {
			if v.path != "" {
				*n = node{Stamp: n.Stamp, Settled: n.Settled, Opaque: repository}
				v.fresh = nil
				return nil
			}
			continue
		}
		dir := kind.IsDir()
		if !dir && !kind.IsRegular() && kind != fs.ModeSymlink {
			n.Others++
			continue
		}
		f, d, ignored := lookup(old.Files, name), old.child(name), lookup(old.Ignored, name)
		switch {
		case !dir && f != nil:
			known = append(known, *f)
		case dir && d != nil:
			n.Dirs = append(n.Dirs, folder{name, d})
		case ignored != nil && ignored.Dir == dir && !v.reask:
			n.Ignored = append(n.Ignored, *ignored)
		default:
			v.fresh = append(v.fresh, entry{name, dir})
		}
	}
	return s.known(v, known)
}

// known checks the files of the old state. As long as they are unchanged, the new list is the old one.
func (s *scan) known(v *visit, list []file) error {
	if len(list) == 0 {
		return nil
	}
	l, err := newLooker(v.dir)
	if err != nil {
		v.new, v.fresh = nil, nil
		return ignoreMissing(err)
	}
	defer l.close()
	same := true
	for i, was := range list {
		is, err := l.stamp(was.Name)
		if same = same && err == nil && is == was.Stamp && was.Settled; same {
			v.new.Files = list[: i+1 : i+1] // appending copies it
			continue
		}
		if err == nil {
			s.file(v, was, is)
		} else if err := ignoreMissing(err); err != nil {
			return err
		}
	}
	return nil
}

// file adds the current state of a file. A file with unknown content is in doubt, with its old hash until it is read.
func (s *scan) file(v *visit, was file, is stamp) {
	if kind := is.kind(); kind != kindFile && kind != kindLink {
		return // just replaced by something else; the next scan sees that in the directory's stamp
	}
	if was.Settled && was.Stamp == is {
		v.new.Files = append(v.new.Files, was)
		return
	}
	v.new.Files = append(v.new.Files, file{Name: was.Name, Stamp: is, Hash: was.Hash, Settled: is.settled(s.begun), doubt: true})
}

// admit asks git about the new names of some directories and adds the names that it does not ignore.
func (s *scan) admit(ctx context.Context, level []*visit) error {
	var paths []string
	for _, v := range level {
		for _, e := range v.fresh {
			paths = append(paths, v.path+e.Name)
		}
	}
	ignored, err := s.r.ignored(ctx, paths)
	if err != nil {
		return err
	}
	for _, v := range level {
		if len(v.fresh) == 0 {
			continue
		}
		n, some := v.new, ignored[:len(v.fresh)]
		ignored = ignored[len(v.fresh):]
		for i, e := range v.fresh {
			switch {
			case some[i]:
				n.Ignored = append(n.Ignored, e)
			case e.Dir:
				n.Dirs = append(n.Dirs, folder{Name: e.Name})
			default:
				info, err := os.Lstat(v.dir + e.Name)
				if err == nil {
					s.file(v, file{Name: e.Name}, stampOf(info))
				} else if err := ignoreMissing(err); err != nil {
					return err
				}
			}
		}
		if !slices.IsSortedFunc(n.Files, byName) { // it may be the old list, which others read
			slices.SortFunc(n.Files, byName)
		}
		slices.SortFunc(n.Dirs, byName)
		slices.SortFunc(n.Ignored, byName)
	}
	return nil
}

// below returns the visits of the directories in a visited one.
func (s *scan) below(v *visit) []*visit {
	if v.new == nil {
		return nil
	}
	if v.new.Opaque == repository {
		s.inner = append(s.inner, v.path)
	}
	out := make([]*visit, len(v.new.Dirs))
	for i, d := range v.new.Dirs {
		out[i] = &visit{parent: v, at: i, path: v.path + d.Name + "/", dir: v.dir + d.Name + string(filepath.Separator), old: d.Node, reask: v.reask}
	}
	return out
}

// finish completes the node of a directory after its files and directories; an unchanged directory keeps the old node.
func (s *scan) finish(v *visit) error {
	n := v.new
	if v.parent != nil { // the parent removes a directory that was deleted meanwhile
		defer func() { v.parent.new.Dirs[v.at].Node = v.new }()
	}
	if n == nil || n == v.old {
		return nil
	}
	n.Dirs = slices.DeleteFunc(n.Dirs, func(d folder) bool { return d.Node == nil })
	n.countLeft()
	old := v.old
	if old != nil && n.Stamp == old.Stamp && n.Rules == old.Rules && n.Settled == old.Settled && n.Opaque == old.Opaque &&
		slices.Equal(n.Files, old.Files) && slices.Equal(n.Dirs, old.Dirs) && slices.Equal(n.Ignored, old.Ignored) && n.Others == old.Others {
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
