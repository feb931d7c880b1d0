package snapshot

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// scan goes through the files of a project once, several directories in parallel. A file with the same stamp as in an earlier state is
// not read again; new contents are stored.
type scan struct {
	*Repo
	ctx   context.Context
	fail  context.CancelCauseFunc // ends the scan
	begun time.Time
	store *packer
	room  chan struct{} // holds a value for each goroutine except the first

	fresh  atomic.Int64 // files that were unknown
	looked atomic.Int64 // files that were read

	mu      sync.Mutex
	leftOut []Path
}

// visit is the scan of one directory.
type visit struct {
	*scan
	path string // relative to the worktree, begins and ends with a slash
	name string // absolute, ends with a separator
	look looker
	was  *node // an earlier state; empty if there is none
	n    *node // the result
	own  bool  // n has its own entries, not those of was
}

// dir returns the state of a directory; nil if it does not exist. was is an earlier state or nil.
func (s *scan) dir(path string, was *node, above *rules) *node {
	if s.ctx.Err() != nil {
		return nil
	}
	v := &visit{scan: s, path: path, name: s.worktree + filepath.FromSlash(path), was: cmp.Or(was, nothing), n: &node{}}
	here, err := v.content(above)
	if err != nil && path == "/" {
		s.fail(err)
	}
	if isMissing(err) {
		return nil
	}
	if err != nil {
		s.leave(path)
		return &node{Unreadable: true}
	}
	v.dirs(here)
	return v.finish()
}

// leave notes a path that the state leaves out.
func (s *scan) leave(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leftOut = append(s.leftOut, Path(path[1:]))
}

// content finds the names in the directory, and the states of its files. It returns the rules that apply in the directory.
func (v *visit) content(above *rules) (here *rules, err error) {
	if v.look, err = newLooker(v.name); err != nil {
		return nil, err
	}
	defer v.look.close() // before subdirectories are opened, so that any depth is possible
	if v.n.Stamp, err = v.look.stamp("."); err != nil {
		return nil, err
	}
	v.n.Settled = v.n.Stamp.settled(v.begun)
	v.n.Entries = v.was.Entries
	known := v.was.Settled && v.was.Stamp == v.n.Stamp
	if !known {
		if err := v.names(); err != nil {
			return nil, err
		}
	}
	if here, err = v.rules(above); err != nil {
		return nil, err
	}
	if v.n.Rules = here.id; !known || v.n.Rules != v.was.Rules {
		v.ignore(here)
	}
	return here, v.files()
}

// names lists the directory.
func (v *visit) names() error {
	list, err := os.ReadDir(v.name)
	if err != nil {
		return err
	}
	isRepository := slices.ContainsFunc(list, func(d os.DirEntry) bool { return d.Name() == ".git" })
	if isRepository != v.was.repository() {
		v.was = nothing // different lists of ignored names apply here and below
	}
	v.n.Entries, v.own = make([]dirEntry, len(list)), true
	for i, d := range list {
		v.n.Entries[i] = dirEntry{Name: d.Name(), Dir: d.IsDir()}
		if was := v.was.find(d.Name()); was != nil && was.Dir == d.IsDir() {
			v.n.Entries[i] = *was
		}
	}
	return nil
}

// ignore decides which names are ignored: all of them if the rules changed, else the new ones. A known file stays known, as in git, so that a
// change is found even if the same command makes the file ignored.
func (v *visit) ignore(here *rules) {
	for i, e := range v.n.Entries {
		if was := v.was.find(e.Name); was != nil && was.Dir == e.Dir && (was.Hash != "" || v.n.Rules == v.was.Rules) {
			continue
		}
		if v.ctx.Err() != nil { // a list may have very many patterns
			return
		}
		// Another session writes the temporary files: an undo of this one would bring them back.
		own := strings.EqualFold(e.Name, ".git") || strings.HasPrefix(e.Name, atomicfile.TempStart) || slices.Contains(v.exclude, v.name+e.Name)
		if own || here.ignored(v.path+e.Name, e.Dir) {
			v.set(i, dirEntry{Name: e.Name, Dir: e.Dir, Ignored: true})
		} else if e.Ignored {
			v.set(i, dirEntry{Name: e.Name, Dir: e.Dir})
		}
	}
}

// set changes an entry, without changing earlier states.
func (v *visit) set(i int, e dirEntry) {
	if v.n.Entries[i] == e {
		return
	}
	if !v.own {
		v.n.Entries, v.own = slices.Clone(v.n.Entries), true
	}
	v.n.Entries[i] = e
}

// files finds the states of the files in the directory.
func (v *visit) files() error {
	for i, e := range v.n.Entries {
		if e.Dir || e.Ignored {
			continue
		}
		if err := v.ctx.Err(); err != nil { // there may be very many files
			return err
		}
		is, err := v.look.stamp(e.Name)
		switch {
		case isMissing(err) || is.kind() == kindDir: // the directory has changed since it was listed, and the next scan lists it again
			is = stamp{}
		case err != nil:
			return err
		}
		gone := e.Hash != "" && is != stamp{} && is.kind() == 0 // a pipe or a socket is in its place
		e = v.file(e, is)
		if gone || e.Hash == "" && e.Stamp.kind() != 0 {
			v.leave(v.path + e.Name)
		}
		v.set(i, e)
	}
	return nil
}

// file returns the entry of a file that has the stamp now.
func (v *visit) file(was dirEntry, is stamp) dirEntry {
	e := dirEntry{Name: was.Name, Stamp: is, Settled: is.settled(v.begun)}
	switch {
	case is.kind() == 0:
		return dirEntry{Name: was.Name}
	case was.Hash != "" && was.Settled && was.Stamp == is:
		return was
	case is.Size > v.limits.MaxFile, was.Hash == "" && v.fresh.Add(1) > int64(v.limits.MaxFiles):
		return e
	}
	v.looked.Add(1)
	content, err := readEntry(v.name+e.Name, is, v.limits.MaxFile)
	if err != nil {
		return e
	}
	if e.Hash = hashOf(objectBlob, content); e.Hash != was.Hash {
		if err := v.store.add(e.Hash, content); err != nil {
			v.fail(err)
		}
	}
	return e
}

// dirs finds the states of the subdirectories.
func (v *visit) dirs(here *rules) {
	var dirs []int
	for i, e := range v.n.Entries {
		if e.Dir && !e.Ignored {
			dirs = append(dirs, i)
		}
	}
	below := make([]*node, len(dirs))
	var running sync.WaitGroup
	for i, at := range dirs {
		e := &v.n.Entries[at]
		look := func() { below[i] = v.dir(v.path+e.Name+"/", e.Node, here) }
		select {
		case v.room <- struct{}{}:
			running.Go(func() { // ends with the directory; Wait waits for it
				look()
				<-v.room
			})
		default:
			look()
		}
	}
	running.Wait()
	for i, at := range dirs {
		e := v.n.Entries[at]
		e.Node = below[i]
		v.set(at, e)
	}
}

// finish returns the result, which is the earlier state if nothing has changed.
func (v *visit) finish() *node {
	n, was := v.n, v.was
	if n.Hash = was.Hash; v.own || n.Hash == "" {
		tree, err := n.encode()
		if err == nil {
			n.Hash = hashOf(objectTree, tree)
		}
		if err == nil && n.Hash != was.Hash {
			err = v.keep(objectTree, n.Hash, tree)
		}
		if err != nil {
			v.fail(err)
		}
	}
	if !v.own && n.Stamp == was.Stamp && n.Settled == was.Settled &&
		n.Gitignore == was.Gitignore && n.Excludes == was.Excludes && n.Rules == was.Rules {
		return was
	}
	return n
}
