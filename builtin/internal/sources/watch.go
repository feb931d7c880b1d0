package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of Tree, so that a link into a large tree does not delay a turn.
const (
	maxDepth   = 6
	maxEntries = 5000
)

// Watch reads files and records their state, so that callers reread them, with another Watch, only if one has changed. Only one goroutine
// may use it at a time.
type Watch struct {
	files projectfs.FS // does not follow links out of the project
	log   *slog.Logger
	marks map[string]projectfs.Stamp // by path
}

// NewWatch returns a Watch for the files of the user and the project. It logs files and directories that it skips.
func NewWatch(project sdk.Project, log *slog.Logger) *Watch {
	return &Watch{projectfs.ForProject(project), log, map[string]projectfs.Stamp{}}
}

// Fresh reports whether all files and directories that were used are unchanged.
func (w *Watch) Fresh() bool {
	for path, before := range w.marks {
		if w.markOf(path) != before {
			return false
		}
	}
	return true
}

// Exists reports whether path exists.
func (w *Watch) Exists(path string) bool { return w.note(path) != projectfs.Stamp{} }

// IsProject reports whether path belongs to the project by its text.
func (w *Watch) IsProject(path string) bool { return w.files.IsProject(path) }

// ReadFile reads a regular file, at most limit bytes of it; cut reports whether the file is larger. The model receives the text without a
// question, so a project must not name files with secrets.
func (w *Watch) ReadFile(path string, limit int64) (data []byte, cut bool, err error) {
	w.note(path)
	f, err := w.open(path)
	if err != nil {
		return nil, false, err
	}
	return projectfs.ReadLimited(f, limit)
}

func (w *Watch) open(path string) (*os.File, error) {
	if !w.files.IsProject(path) {
		f, _, err := w.files.Open(path)
		return f, err
	}
	real, err := w.files.Resolve(path)
	if err == nil && paths.HoldsSecrets(real) {
		err = fmt.Errorf("%s can contain secrets; only the read tool reads it, after asking the user", real)
	}
	if err != nil {
		return nil, err
	}
	f, _, err := w.files.OpenReal(real)
	return f, err
}

// Tree returns the files below dir whose names accept matches, sorted by path. It follows links to files and directories,
// except links that leave the project, and skips directories that it cannot read. dir may also be such a file itself.
func (w *Watch) Tree(dir string, accept func(name string) bool) []string {
	if accept(filepath.Base(dir)) && w.note(dir).Mode.IsRegular() && w.Exists(dir) {
		return []string{dir}
	}
	left := maxEntries
	files := w.tree(dir, accept, maxDepth, &left)
	slices.SortFunc(files, strings.Compare)
	return files
}

func (w *Watch) tree(dir string, accept func(name string) bool, depth int, left *int) []string {
	if !w.Exists(dir) || depth == 0 {
		return nil
	}
	entries, err := w.files.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, syscall.ENOTDIR) {
			w.log.Warn("directory left out", "dir", dir, "err", err)
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
			info, err := w.files.Stat(path)
			// Links that leave the project are not inspected. A link whose name is not accepted as a file is
			// treated as a directory and refused.
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

// note records the state of path, unless it has been recorded, and returns the recorded one.
func (w *Watch) note(path string) projectfs.Stamp {
	if _, ok := w.marks[path]; !ok {
		w.marks[path] = w.markOf(path)
	}
	return w.marks[path]
}

func (w *Watch) markOf(path string) projectfs.Stamp { return projectfs.StampOf(w.files.Stat(path)) }
