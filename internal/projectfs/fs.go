package projectfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// FS opens files that users and repositories provide for the agent. The zero value has no project: all links are followed.
type FS struct {
	roots []string // directories of the project: real paths and the paths given to New
	users []string // directories of the user, whose files do not belong to the project
}

// New returns the FS of a project with these directories. Files in a directory of the user belong to the user even if the directory is
// inside the project. All paths are absolute; empty paths are ignored.
func New(project, users []string) FS {
	var f FS
	for _, dir := range project {
		if dir != "" {
			f.roots = append(f.roots, Real(dir), filepath.Clean(dir))
		}
	}
	f.roots = slices.Compact(f.roots) // usually all are equal
	f.users = slices.DeleteFunc(slices.Clone(users), func(dir string) bool { return dir == "" })
	return f
}

// ForProject returns the FS of the project that plugins know.
func ForProject(p sdk.Project) FS {
	users := []string{p.ConfigDir}
	if p.Home != "" {
		for _, name := range []string{".agents", ".claude", ".opencode", ".tenon"} {
			users = append(users, filepath.Join(p.Home, name))
		}
	}
	return New([]string{p.Worktree, p.Directory}, users)
}

// IsProject reports whether the path, which need not exist, is in the project. It follows no links.
func (f FS) IsProject(path string) bool {
	path = filepath.Clean(path)
	in := func(dir string) bool { return Inside(dir, path) }
	return slices.ContainsFunc(f.roots, in) && !slices.ContainsFunc(f.users, in)
}

// Resolve returns the real path. If a path in the project leads out of it, the error wraps ErrOutside.
func (f FS) Resolve(path string) (string, error) {
	real := Real(path)
	if f.IsProject(path) && !f.Holds(real) {
		return "", fmt.Errorf("%w: it leads to %s", ErrOutside, real)
	}
	return real, nil
}

// Holds reports whether a real path is in the project.
func (f FS) Holds(real string) bool {
	return slices.ContainsFunc(f.roots, func(root string) bool { return Within(root, real) })
}

// Open opens the regular file at path for reading. Errors wrap ErrOutside, ErrSpecial or ErrChanged, or are those of package os.
func (f FS) Open(path string) (*os.File, fs.FileInfo, error) {
	if !f.IsProject(path) {
		return OpenRegular(path)
	}
	real, err := f.Resolve(path)
	if err != nil {
		return nil, nil, err
	}
	file, info, err := f.OpenReal(real)
	return file, info, absent(path, err)
}

// absent returns the error for a missing file if its directory can be entered but not opened, and otherwise err.
func absent(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		if _, missing := os.Lstat(path); errors.Is(missing, fs.ErrNotExist) {
			return missing
		}
	}
	return err
}

// Read returns the content of the file at path. A file larger than limit bytes is an error; other errors are those of Open.
func (f FS) Read(path string, limit int64) ([]byte, error) {
	file, _, err := f.Open(path)
	if err != nil {
		return nil, err
	}
	data, cut, err := ReadLimited(file, limit)
	if cut {
		return nil, fmt.Errorf("%s has more than %d bytes, the limit", filepath.Base(path), limit)
	}
	return data, err
}

// OpenReal opens the regular file at exactly the real path; see Open of this package.
func (f FS) OpenReal(real string) (*os.File, fs.FileInfo, error) { return Open(f.roots, real) }

// ReadDir lists the directory at path, sorted by name. Errors are those of Open.
func (f FS) ReadDir(path string) ([]fs.DirEntry, error) {
	if !f.IsProject(path) {
		return os.ReadDir(path) // also sorted
	}
	real, err := f.Resolve(path)
	if err != nil {
		return nil, err
	}
	list, err := f.ReadDirReal(real)
	return list, absent(path, err)
}

// ReadDirReal lists the directory at exactly the real path, sorted by name.
func (f FS) ReadDirReal(real string) ([]fs.DirEntry, error) { return ReadDir(f.roots, real) }

// Stat describes the file at path without opening it, for checks of existence and changes. If a link leads out of the project, it
// describes the link.
func (f FS) Stat(path string) (fs.FileInfo, error) {
	if !f.IsProject(path) {
		return os.Stat(path)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err // the usual case, and resolving the path would take a call for each directory above it
	}
	real, err := f.Resolve(path)
	if err != nil {
		return info, nil
	}
	return os.Lstat(real)
}
