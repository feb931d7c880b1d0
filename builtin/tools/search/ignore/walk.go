// Package ignore walks directory trees without ignored files: it applies the .gitignore files
// at every level, .git/info/exclude and .ignore files, and skips every .git directory.
//
// Rules have the same meaning as in git, with the exceptions that package gitignore lists; a test compares them with git on random trees.
//
// In addition, like in ripgrep: .ignore files have the same syntax and override .gitignore; .gitignore rules do not apply to
// repositories below their directory; the root of a walk may be an ignored directory. Unlike in ripgrep, .gitignore files also
// apply outside repositories. The user's global excludes, and info/exclude of a linked working tree, are not read.
package ignore

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
)

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
// visit may return fs.SkipDir (skip this directory) and fs.SkipAll (stop); any other error stops the walk and is returned.
// unreadable is the number of directories that were skipped because they could not be read; an unreadable root is an error.
// If ctx ends, Walk returns its error.
func Walk(ctx context.Context, dir *projectfs.Dir, root, top string, visit func(Entry) error) (unreadable int, err error) {
	return (&walker{dir: dir, visit: visit}).run(ctx, root, top)
}

// WalkLevels is like Walk, but visits everything in a level before the levels below it.
func WalkLevels(ctx context.Context, dir *projectfs.Dir, root, top string, visit func(Entry) error) (unreadable int, err error) {
	return (&walker{dir: dir, visit: visit, levels: true}).run(ctx, root, top)
}

type walker struct {
	dir        *projectfs.Dir // the root; owned by the caller
	visit      func(Entry) error
	levels     bool
	later      []below // if levels is set
	unreadable int
}

// below is a directory to enter.
type below struct {
	Entry
	above rules // of the directory above it
}

func (w *walker) run(ctx context.Context, root, top string) (unreadable int, err error) {
	l, err := w.read(root, ".", rulesAbove(root, top))
	if err != nil {
		return 0, err
	}
	for err = w.walk(ctx, root, "", l); err == nil && len(w.later) > 0; {
		next := w.later[0]
		w.later = w.later[1:]
		err = w.enter(ctx, next)
	}
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return w.unreadable, err
}

// listing is the content of one directory without ignored entries.
type listing struct {
	entries []fs.DirEntry
	rules   rules
}

// read lists the directory at path; rel is its path below the root.
func (w *walker) read(path, rel string, above rules) (listing, error) {
	entries, err := w.dir.ReadDirBelow(rel)
	if err != nil {
		return listing{}, err
	}
	l := listing{rules: newRules(above, path, entries, func(name string) []byte {
		f, _, err := w.dir.OpenBelow(rel + "/" + name)
		return readFile(f, err)
	})}
	for _, e := range entries {
		if e.Name() == ".git" || l.rules.ignored(filepath.ToSlash(filepath.Join(path, e.Name())), e.IsDir()) {
			continue
		}
		l.entries = append(l.entries, e)
	}
	return l, nil
}

// walk visits the entries of the directory at path.
func (w *walker) walk(ctx context.Context, path, rel string, l listing) error {
	for _, e := range l.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry := Entry{DirEntry: e, Path: filepath.Join(path, e.Name()), Rel: strings.TrimPrefix(rel+"/"+e.Name(), "/")}
		err := w.visit(entry)
		if errors.Is(err, fs.SkipDir) {
			continue
		}
		if err != nil {
			return err
		}
		switch next := (below{entry, l.rules}); {
		case !e.IsDir():
		case w.levels:
			w.later = append(w.later, next)
		default:
			if err := w.enter(ctx, next); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// enter visits what is in a directory.
func (w *walker) enter(ctx context.Context, d below) error {
	l, err := w.read(d.Path, d.Rel, d.above)
	if err != nil {
		w.unreadable++
		return nil
	}
	return w.walk(ctx, d.Path, d.Rel, l)
}
