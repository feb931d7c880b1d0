package sources

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrSpecial is returned for what is neither a regular file nor a directory: reading it could block.
var ErrSpecial = errors.New("not a regular file")

// Bounds of a Tree, so that a link into a large tree does not stall a turn.
const (
	maxDepth   = 6
	maxEntries = 5000
)

// Watch reads files and remembers what it looked at, so that a result is made again only when one of
// them changed. The zero value is ready and not fresh. It belongs to one goroutine at a time.
type Watch struct {
	marks map[string]mark
	made  bool
}

// mark is what identifies the state of a file or directory. The zero value: it is not there.
type mark struct {
	mod  time.Time
	size int64
	mode fs.FileMode
}

// Fresh reports whether everything that was looked at since Reset is as it was.
func (w *Watch) Fresh() bool {
	if !w.made {
		return false
	}
	for path, before := range w.marks {
		if now := markOf(path); !now.mod.Equal(before.mod) || now.size != before.size || now.mode != before.mode {
			return false
		}
	}
	return true
}

// Reset forgets what was looked at. What is looked at from now on is what Fresh compares.
func (w *Watch) Reset() { w.marks, w.made = map[string]mark{}, true }

// Exists reports whether there is something at path.
func (w *Watch) Exists(path string) bool {
	w.note(path)
	return w.marks[path] != mark{}
}

// ReadFile reads a regular file, at most limit bytes of it; cut reports that there is more.
func (w *Watch) ReadFile(path string, limit int64) (data []byte, cut bool, err error) {
	w.note(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s: %w", path, ErrSpecial)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, false, err
	}
	if int64(len(data)) > limit {
		return data[:limit], true, nil
	}
	return data, false, nil
}

// Tree returns the files below dir that match accepts, sorted by path. Links to files and directories are
// followed; what cannot be read is left out.
func (w *Watch) Tree(dir string, accept func(name string) bool) []string {
	left := maxEntries
	files := w.tree(dir, accept, maxDepth, &left)
	slices.SortFunc(files, strings.Compare)
	return files
}

func (w *Watch) tree(dir string, accept func(name string) bool, depth int, left *int) []string {
	w.note(dir)
	if (w.marks[dir] == mark{}) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil || depth == 0 {
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	var files []string
	for _, entry := range entries {
		if *left--; *left < 0 {
			return files
		}
		name := entry.Name()
		path := filepath.Join(dir, name)
		isDir := entry.IsDir()
		if entry.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(path)
			isDir = err == nil && info.IsDir()
		}
		switch {
		case isDir && name != "node_modules" && name != ".git":
			files = append(files, w.tree(path, accept, depth-1, left)...)
		case !isDir && accept(name):
			files = append(files, path)
		}
	}
	return files
}

func (w *Watch) note(path string) {
	if w.marks == nil {
		w.Reset()
	}
	if _, ok := w.marks[path]; !ok {
		w.marks[path] = markOf(path)
	}
}

func markOf(path string) mark {
	info, err := os.Stat(path)
	if err != nil {
		return mark{}
	}
	return mark{mod: info.ModTime(), size: info.Size(), mode: info.Mode()}
}

// Markdown accepts the names of Markdown files.
func Markdown(name string) bool { return strings.EqualFold(filepath.Ext(name), ".md") }
