// Package projectfs opens the files of a project. It alone decides about links, special files and races.
//
// # Real paths
//
// Callers resolve a path (Real), judge the real path, and then open exactly that path (OpenDir, Open): component by component below a
// trusted directory, through os.Root, without following any link. If a link replaces a component in between, opening fails with
// ErrChanged. So the opened file is the one that was judged, and no caller has to compare names before it opens a file again.
//
// # Project and user
//
// FS opens the files that users and repositories provide for the agent. In the project's directories, links are followed as long as they
// stay inside; in the user's own directories, wherever they lead.
package projectfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

var (
	// ErrOutside is wrapped by errors about links that lead out of the project.
	ErrOutside = errors.New("leads out of the project")
	// ErrChanged is wrapped by errors about a path on which a link appeared after it was judged.
	ErrChanged = errors.New("a symbolic link took the place of a file or directory")
	// ErrSpecial is wrapped by errors about files that are not regular.
	ErrSpecial = errors.New("not a regular file")
	// ErrDirectory is returned for a directory that a caller opens as a file. It wraps ErrSpecial.
	ErrDirectory = fmt.Errorf("%w: it is a directory", ErrSpecial)
)

// notDirectory is the error about a file in the place of a directory. The error of Windows could also mean that nothing is there.
type notDirectory struct{}

func (notDirectory) Error() string { return "not a directory" }

func (notDirectory) Is(target error) bool { return target == syscall.ENOTDIR }

// Dir is an open directory. The names its methods take are single components, and links are never followed. It is safe for concurrent
// use; the caller closes it.
type Dir struct {
	root *os.Root
	path string
}

// OpenDir opens the directory at the real path. The part of the path that it shares with one of the trusted real paths is opened in one step,
// the rest component by component. Every directory of the rest must be readable. Errors wrap ErrChanged or are those of package os.
func OpenDir(trusted []string, real string) (*Dir, error) { return openDir(trusted, real, false) }

// MakeDir is like OpenDir, and creates the directory and missing directories above it.
func MakeDir(trusted []string, real string) (*Dir, error) { return openDir(trusted, real, true) }

func openDir(trusted []string, real string, create bool) (*Dir, error) {
	start := filepath.VolumeName(real) + string(filepath.Separator)
	for _, t := range trusted {
		if c := commonDir(t, real); len(c) > len(start) {
			start = c
		}
	}
	root, err := os.OpenRoot(start)
	if err != nil {
		return nil, err
	}
	d := &Dir{root, start}
	for _, name := range components(real[len(start):]) {
		next, err := d.Dir(name)
		if create && errors.Is(err, fs.ErrNotExist) {
			if err = d.root.Mkdir(name, 0o777); err == nil || errors.Is(err, fs.ErrExist) { // another program has just created it
				next, err = d.Dir(name)
			}
		}
		_ = d.Close() // only read from, and a new directory is complete without it
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

// OpenRoot opens the directory at the real path like OpenDir, for use with package os.
func OpenRoot(trusted []string, real string) (*os.Root, error) {
	d, err := OpenDir(trusted, real)
	if err != nil {
		return nil, err
	}
	return d.root, nil
}

// Parent opens the parent directory of the real path and returns the last component. Errors are those of OpenDir.
func Parent(trusted []string, real string) (d *Dir, name string, err error) {
	d, err = OpenDir(trusted, filepath.Dir(real))
	return d, filepath.Base(real), err
}

// Open opens the regular file at the real path for reading. Errors wrap ErrSpecial or ErrChanged, or are those of package os.
func Open(trusted []string, real string) (*os.File, fs.FileInfo, error) {
	if filepath.Dir(real) == real {
		return nil, nil, ErrDirectory // the root of a volume, which has no parent
	}
	d, name, err := Parent(trusted, real)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	return d.Open(name)
}

// ReadDir lists the directory at the real path, sorted by name. Errors are those of OpenDir.
func ReadDir(trusted []string, real string) ([]fs.DirEntry, error) {
	d, err := OpenDir(trusted, real)
	if err != nil {
		return nil, err
	}
	defer d.Close() // only read
	return d.ReadDir()
}

// Close closes the directory. Files opened through it stay open.
func (d *Dir) Close() error { return d.root.Close() }

// Dir opens the directory with the name.
func (d *Dir) Dir(name string) (*Dir, error) {
	// The dot makes opening anything but a directory fail: opening a named pipe would block.
	root, err := d.root.OpenRoot(name + string(filepath.Separator) + ".")
	if err != nil {
		if info, lstatErr := d.Lstat(name); lstatErr == nil && !info.IsDir() {
			err = &fs.PathError{Op: "open", Path: name, Err: notDirectory{}}
		}
		return nil, d.explain(name, err)
	}
	info, err := root.Stat(".")
	if err == nil {
		err = d.isNamed(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Dir{root, filepath.Join(d.path, name)}, nil
}

// Open opens the regular file with the name for reading. It never waits for the other end of a named pipe.
func (d *Dir) Open(name string) (*os.File, fs.FileInfo, error) { return d.open(name, os.O_RDONLY) }

// OpenForWriting opens the existing regular file with the name for writing. Otherwise it is like Open.
func (d *Dir) OpenForWriting(name string) (*os.File, fs.FileInfo, error) {
	return d.open(name, os.O_WRONLY)
}

func (d *Dir) open(name string, flags int) (*os.File, fs.FileInfo, error) {
	// Opening can have effects (a tape rewinds), so check first. The check of the open file decides.
	info, err := d.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(info); err != nil {
		return nil, nil, err
	}
	f, err := d.root.OpenFile(name, flags|Nonblock, 0)
	if err != nil {
		return nil, nil, d.explain(name, err)
	}
	return opened(f, func(info fs.FileInfo) error { return errors.Join(regular(info), d.isNamed(name, info)) })
}

// opened returns the open file f if check accepts it, and otherwise closes it.
func opened(f *os.File, check func(fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	info, err := f.Stat()
	if err == nil {
		err = check(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// OpenBelow opens the regular file at a relative path, which may have several components, for reading. Links are followed as long as they
// stay below the directory.
func (d *Dir) OpenBelow(rel string) (*os.File, fs.FileInfo, error) {
	f, err := d.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	return opened(f, regular)
}

// DirBelow opens the directory at a relative path. Links are followed as long as they stay below the directory.
func (d *Dir) DirBelow(rel string) (*Dir, error) {
	root, err := d.root.OpenRoot(below(rel))
	if err != nil {
		return nil, err
	}
	return &Dir{root, filepath.Join(d.path, rel)}, nil
}

// below returns the relative path with a dot at its end, which makes opening anything but a directory fail: opening a named pipe would block.
func below(rel string) string {
	return filepath.Join(filepath.FromSlash(rel), ".") + string(filepath.Separator) + "."
}

// ReadDirBelow lists the directory at a relative path, sorted by name. Links are followed as long as they stay below the directory.
func (d *Dir) ReadDirBelow(rel string) ([]fs.DirEntry, error) {
	f, err := d.root.Open(below(rel))
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}

// ReadDir lists the directory, sorted by name.
func (d *Dir) ReadDir() ([]fs.DirEntry, error) { return d.ReadDirBelow(".") }

// Walk calls visit for everything below the directory, by name, each directory before its content. in is the directory that contains the
// entry, name the path of the entry from d, with slashes. If visit returns fs.SkipDir, Walk does not enter the entry. Links are not followed.
func (d *Dir) Walk(ctx context.Context, visit func(in *Dir, name string, e fs.DirEntry) error) error {
	return d.walk(ctx, "", visit)
}

func (d *Dir) walk(ctx context.Context, above string, visit func(in *Dir, name string, e fs.DirEntry) error) error {
	list, err := d.ReadDir()
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(above, e.Name())
		err := visit(d, name, e)
		if err == nil && e.IsDir() {
			var below *Dir
			if below, err = d.Dir(e.Name()); err == nil {
				err = below.walk(ctx, name, visit)
				_ = below.Close() // only read
			}
		}
		if err != nil && !errors.Is(err, fs.SkipDir) {
			return err
		}
	}
	return nil
}

// Lstat describes the file with the name, without following a link.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// Readlink returns the target of the link with the name.
func (d *Dir) Readlink(name string) (string, error) { return d.root.Readlink(name) }

// Stage writes the new content of the file with the name to a temporary file.
func (d *Dir) Stage(name string, content []byte, o atomicfile.Options) (*atomicfile.Staged, error) {
	return atomicfile.Stage(d.root, name, content, o)
}

// Remove removes the file, the link or the empty directory with the name.
func (d *Dir) Remove(name string) error { return d.root.Remove(name) }

// isNamed checks that the name, without following a link, still names the file described by opened.
func (d *Dir) isNamed(name string, opened fs.FileInfo) error {
	now, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if isLink(now) || !os.SameFile(now, opened) {
		return d.changed(name)
	}
	return nil
}

// explain returns ErrChanged if the name is a link now, and otherwise the error with the whole path.
func (d *Dir) explain(name string, err error) error {
	if info, lstatErr := d.Lstat(name); lstatErr == nil && isLink(info) {
		return d.changed(name)
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "open", Path: filepath.Join(d.path, name), Err: pathErr.Err}
	}
	return err
}

func (d *Dir) changed(name string) error {
	return fmt.Errorf("%w: %s; try again", ErrChanged, filepath.Join(d.path, name))
}

// OpenRegular opens the regular file at path for reading and follows links wherever they lead. It is for files outside any project.
// Errors wrap ErrSpecial or are those of package os.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(info); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	return opened(f, regular)
}

// ReadRegular returns the content of a file that OpenRegular opens. A file larger than limit bytes is an error.
func ReadRegular(path string, limit int64) ([]byte, error) { return FS{}.Read(path, limit) }

// regular returns an error that names the kind of the file, unless it is regular.
func regular(info fs.FileInfo) error {
	kind := "special file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return ErrDirectory
	case isLink(info):
		kind = "symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		kind = "named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	}
	return fmt.Errorf("%w: it is a %s", ErrSpecial, kind)
}

// isLink reports whether a file is a symbolic link or, on Windows, a junction, which counts as irregular.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// commonDir returns the deepest common directory of two clean paths, or one of the paths if it is above the other; "" on different volumes.
func commonDir(a, b string) string {
	volume := filepath.VolumeName(a)
	if filepath.VolumeName(b) != volume {
		return ""
	}
	common := volume + string(filepath.Separator)
	as, bs := components(a[len(volume):]), components(b[len(volume):])
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			break
		}
		common = filepath.Join(common, as[i])
	}
	return common
}

// components returns the names in a clean path without a volume.
func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
}

// ReadLimited reads at most limit bytes of a file and closes it; cut reports whether the file is larger.
func ReadLimited(f *os.File, limit int64) (data []byte, cut bool, err error) {
	defer f.Close() // only read
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, false, err
	}
	if int64(len(data)) > limit {
		return data[:limit], true, nil
	}
	return data, false, nil
}
