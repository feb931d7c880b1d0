package sources

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of a Tree, so that a link into a large tree does not stall a turn.
const (
	maxDepth   = 6
	maxEntries = 5000
)

// Watch reads files and remembers what it looked at, so that a result is made again only when one of
// them changed. The zero value is ready and not fresh, and follows all links. It belongs to one goroutine at a time.
type Watch struct {
	// Files opens them: links in the project do not lead out of it.
	Files projectfs.FS
	// Refused is called with each directory, or link to one, that Tree leaves out because it cannot be read. If nil, they are
	// left out silently.
	Refused func(path string, err error)

	marks map[string]mark
	made  bool
}

// NewWatch returns a Watch for the files that the user and the project keep. What it leaves out is logged.
func NewWatch(project sdk.Project, log *slog.Logger) Watch {
	return Watch{Files: projectfs.ForProject(project), Refused: func(path string, err error) {
		log.Warn("directory left out", "dir", path, "err", err)
	}}
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
		if now := w.markOf(path); !now.mod.Equal(before.mod) || now.size != before.size || now.mode != before.mode {
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
	f, _, err := w.Files.Open(path)
	if err != nil {
		return nil, false, err
	}
	return projectfs.ReadLimited(f, limit)
}

// Tree returns the files below dir that match accepts, sorted by path. Links to files and directories are
// followed, in the project as far as they stay inside; what cannot be read is left out.
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
	if depth == 0 {
		return nil
	}
	entries, err := w.Files.ReadDir(dir)
	if err != nil {
		if w.Refused != nil && !errors.Is(err, syscall.ENOTDIR) {
			w.Refused(dir, err)
		}
		return nil
	}
	var files []string
	for _, entry := range entries {
		if *left--; *left < 0 {
			return files
		}
		name := entry.Name()
		path := filepath.Join(dir, name)
		isDir := entry.IsDir()
		if entry.Type()&fs.ModeSymlink != 0 {
			info, err := w.Files.Stat(path)
			// Where a link leads that leaves the project is not looked at: unless it may be a file, refuse it as a directory.
			isDir = err == nil && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0 && !accept(name))
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
		w.marks[path] = w.markOf(path)
	}
}

func (w *Watch) markOf(path string) mark {
	info, err := w.Files.Stat(path)
	if err != nil {
		return mark{}
	}
	return mark{mod: info.ModTime(), size: info.Size(), mode: info.Mode()}
}

// Markdown accepts the names of Markdown files.
func Markdown(name string) bool { return strings.EqualFold(filepath.Ext(name), ".md") }
