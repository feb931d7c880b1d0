package ignore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// readAhead is the number of sibling directories that are read in advance. It also bounds
// memory: at most readAhead listings wait at each level of the tree.
const readAhead = 4

// Entry is a file or directory found by Walk.
type Entry struct {
	fs.DirEntry
	Path string // absolute
	Rel  string // below the root of the walk, with slashes
}

// Walk calls visit for everything below the open directory dir that is not ignored, each directory before
// its content, names in byte order. Symbolic links are visited but not followed. root is the caller's absolute path of dir, top the
// directory of the project: rules of the directories from top to root apply, too.
//
// visit is called by one goroutine. It may return fs.SkipDir (skip this directory) and fs.SkipAll
// (stop); any other error stops the walk and is returned. unreadable is the number of directories that were skipped because they
// could not be read; an unreadable root is an error. If ctx ends, Walk returns its error. No goroutine runs after Walk has
// returned.
func Walk(ctx context.Context, dir *projectfs.Dir, root, top string, visit func(Entry) error) (unreadable int, err error) {
	w := &walker{dir: dir, visit: visit}
	defer w.readers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	above := rulesAbove(root, top)
	l := w.read(ctx, root, ".", above)
	if l.err != nil {
		return 0, l.err
	}
	err = w.walk(ctx, root, "", l)
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return w.unreadable, err
}

type walker struct {
	dir        *projectfs.Dir // the root; owned by the caller
	visit      func(Entry) error
	unreadable int
	readers    sync.WaitGroup // the goroutines that read ahead, each one directory
}

// listing is the content of one directory without ignored entries.
type listing struct {
	entries []fs.DirEntry
	rules   *rules
	err     error
}

// read lists the directory at path; rel is its path below the root.
func (w *walker) read(ctx context.Context, path, rel string, above *rules) listing {
	if err := ctx.Err(); err != nil {
		return listing{err: err}
	}
	entries, err := w.dir.ReadDirBelow(rel)
	if err != nil {
		return listing{err: err}
	}
	l := listing{rules: newRules(above, path, entries, func(name string) []byte {
		f, _, err := w.dir.OpenBelow(rel + "/" + name)
		return readFile(f, err)
	})}
	for _, e := range entries {
		if e.Name() == ".git" || l.rules.ignored(filepath.ToSlash(join(path, e.Name())), e.IsDir()) {
			continue
		}
		l.entries = append(l.entries, e)
	}
	return l
}

// walk visits the entries of the directory at path.
func (w *walker) walk(ctx context.Context, path, rel string, l listing) error {
	ahead := w.readAhead(ctx, path, rel, l)
	for _, e := range l.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry := Entry{DirEntry: e, Path: join(path, e.Name()), Rel: below(rel, e.Name())}
		err := w.visit(entry)
		if !e.IsDir() {
			if err != nil && !errors.Is(err, fs.SkipDir) {
				return err
			}
			continue
		}
		inside := ahead()
		if errors.Is(err, fs.SkipDir) {
			continue
		}
		if err != nil {
			return err
		}
		if inside.err != nil {
			w.unreadable++ // or ctx ended, which is checked below
			continue
		}
		if err := w.walk(ctx, entry.Path, entry.Rel, inside); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readAhead starts reading the subdirectories in l. Each call of next returns the next listing.
func (w *walker) readAhead(ctx context.Context, path, rel string, l listing) (next func() listing) {
	var dirs []string
	for _, e := range l.entries {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		}
	}
	waiting := make([]chan listing, 0, min(len(dirs), readAhead))
	start := func() {
		if len(dirs) == 0 {
			return
		}
		dir, out := dirs[0], make(chan listing, 1) // buffered, so that the reader never waits
		dirs = dirs[1:]
		waiting = append(waiting, out)
		w.readers.Go(func() { out <- w.read(ctx, join(path, dir), below(rel, dir), l.rules) })
	}
	for range readAhead {
		start()
	}
	return func() listing {
		first := waiting[0]
		waiting = waiting[1:]
		start()
		return <-first
	}
}

// below returns the path of a name in the directory at rel.
func below(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// join is a faster filepath.Join for a clean directory and a plain name.
func join(dir, name string) string {
	if os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
