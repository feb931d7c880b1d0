package wasm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	wasisys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// maxFiles is the maximum number of open files of an instance.
const maxFiles = 64

// rootFS is a granted directory in a guest. wazero's file systems follow links out of a directory; os.Root never does, even if links change
// concurrently. Only regular files and directories can be opened, because opening a pipe or a device may block.
type rootFS struct {
	wasisys.UnimplementedFS
	root  *os.Root
	path  string // of root, as granted
	write bool
	guard *guard
}

// guard is the state shared by the files of one instance. One goroutine at a time uses it.
type guard struct {
	current *call // the running call
	files   int   // number of open files
}

// expired reports whether the guest must stop, so that large system operations for it end early.
func (g *guard) expired() bool { return g.current != nil && g.current.check() != nil }

var (
	_ wasisys.FS   = (*rootFS)(nil)
	_ wasisys.File = (*rootFile)(nil)
)

// OpenFile opens a regular file or a directory.
func (f *rootFS) OpenFile(path string, flag wasisys.Oflag, perm fs.FileMode) (wasisys.File, wasisys.Errno) {
	writes := flag&(wasisys.O_RDWR|wasisys.O_WRONLY|wasisys.O_CREAT|wasisys.O_TRUNC|wasisys.O_APPEND) != 0
	if writes && !f.write {
		return nil, wasisys.EROFS
	}
	if f.guard.files >= maxFiles {
		return nil, wasisys.EAGAIN
	}
	if info, err := f.lstat(path); flag&wasisys.O_NOFOLLOW != 0 && err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, wasisys.ELOOP
	}
	file, err := f.open(path, openFlags(flag), perm.Perm()&0o755)
	if err != nil {
		return nil, wasisys.UnwrapOSError(err)
	}
	errno := wasisys.EPERM
	switch info, err := file.Stat(); {
	case err != nil, !info.IsDir() && !info.Mode().IsRegular():
	case flag&wasisys.O_DIRECTORY != 0 && !info.IsDir():
		errno = wasisys.ENOTDIR
	default:
		return f.adopt(path, file)
	}
	_ = file.Close() // nothing was written
	return nil, errno
}

// follow calls do with a path below the root. os.Root refuses absolute links, even if they stay inside. Then follow resolves the links and calls
// do again; os.Root checks this path, too. last means that do follows the last component.
func follow[T any](f *rootFS, path string, last bool, do func(path string) (T, error)) (T, error) {
	out, err := do(path)
	if systemError := (syscall.Errno(0)); err == nil || errors.As(err, &systemError) {
		return out, err
	}
	name := ""
	if !last {
		path, name = filepath.Split(filepath.FromSlash(path))
	}
	real := filepath.Join(projectfs.Real(f.path+string(filepath.Separator)+path), name)
	rel, outside := filepath.Rel(projectfs.Real(f.path), real)
	if outside != nil || !filepath.IsLocal(rel) {
		return out, err
	}
	return do(rel)
}

func (f *rootFS) open(path string, flags int, perm fs.FileMode) (*os.File, error) {
	return follow(f, path, true, func(path string) (*os.File, error) { return f.root.OpenFile(path, flags, perm) })
}

func (f *rootFS) lstat(path string) (fs.FileInfo, error) { return follow(f, path, false, f.root.Lstat) }

// openFlags translates flags. Opening a pipe does not block.
func openFlags(flag wasisys.Oflag) int {
	out := os.O_RDONLY | projectfs.Nonblock
	switch {
	case flag&wasisys.O_RDWR != 0:
		out |= os.O_RDWR
	case flag&wasisys.O_WRONLY != 0:
		out |= os.O_WRONLY
	}
	for from, to := range map[wasisys.Oflag]int{
		wasisys.O_APPEND: os.O_APPEND, wasisys.O_CREAT: os.O_CREATE, wasisys.O_EXCL: os.O_EXCL, wasisys.O_TRUNC: os.O_TRUNC,
		wasisys.O_SYNC: os.O_SYNC, wasisys.O_DSYNC: os.O_SYNC,
	} {
		if flag&from != 0 {
			out |= to
		}
	}
	return out
}

// Lstat describes a file, or a link.
func (f *rootFS) Lstat(path string) (sys.Stat_t, wasisys.Errno) { return stat(f.lstat(path)) }

// Stat describes a file.
func (f *rootFS) Stat(path string) (sys.Stat_t, wasisys.Errno) {
	return stat(follow(f, path, true, f.root.Stat))
}

func stat(info fs.FileInfo, err error) (sys.Stat_t, wasisys.Errno) {
	if err != nil {
		return sys.Stat_t{}, wasisys.UnwrapOSError(err)
	}
	return sys.NewStat_t(info), 0
}

// Readlink returns the target of a link, which may be outside of the root.
func (f *rootFS) Readlink(path string) (string, wasisys.Errno) {
	target, err := follow(f, path, false, f.root.Readlink)
	return target, wasisys.UnwrapOSError(err)
}

// Mkdir makes a directory.
func (f *rootFS) Mkdir(path string, perm fs.FileMode) wasisys.Errno {
	return f.change(path, false, func(path string) error { return f.root.Mkdir(path, perm.Perm()&0o755) })
}

// Rename moves a file inside of the directory.
func (f *rootFS) Rename(from, to string) wasisys.Errno {
	return f.change(from, false, func(from string) error {
		return f.at(to, false, func(to string) error { return f.root.Rename(from, to) })
	})
}

// Rmdir removes an empty directory.
func (f *rootFS) Rmdir(path string) wasisys.Errno { return f.remove(path, true) }

// Unlink removes a file.
func (f *rootFS) Unlink(path string) wasisys.Errno { return f.remove(path, false) }

func (f *rootFS) remove(path string, directory bool) wasisys.Errno {
	info, err := f.lstat(path)
	switch {
	case err != nil:
		return wasisys.UnwrapOSError(err)
	case directory && !info.IsDir():
		return wasisys.ENOTDIR
	case !directory && info.IsDir():
		return wasisys.EISDIR
	}
	return f.change(path, false, f.root.Remove)
}

// Utimens sets the times of a file.
func (f *rootFS) Utimens(path string, atim, mtim int64) wasisys.Errno {
	return f.change(path, true, func(path string) error { return f.root.Chtimes(path, time.Unix(0, atim), time.Unix(0, mtim)) })
}

func (f *rootFS) change(path string, last bool, do func(path string) error) wasisys.Errno {
	if !f.write {
		return wasisys.EROFS
	}
	return wasisys.UnwrapOSError(f.at(path, last, do))
}

// at is follow without a result.
func (f *rootFS) at(path string, last bool, do func(path string) error) error {
	_, err := follow(f, path, last, func(path string) (struct{}, error) { return struct{}{}, do(path) })
	return err
}

// rootFile is an open file of a rootFS: wazero's adapter of a guardedFile, and the methods that the adapter lacks.
type rootFile struct {
	wasisys.File
	file *guardedFile
}

// adopt wraps an open file for wazero, which opens a directory again to read it from the beginning.
func (f *rootFS) adopt(path string, file *os.File) (wasisys.File, wasisys.Errno) {
	first := f.guarded(file)
	next := first
	adapted, errno := (&sysfs.AdaptFS{FS: opener(func() (fs.File, error) {
		if next != nil {
			next = nil
			return first, nil
		}
		again, err := f.open(path, os.O_RDONLY|projectfs.Nonblock, 0)
		if err != nil {
			return nil, err
		}
		return f.guarded(again), nil
	})}).OpenFile(path, wasisys.O_RDONLY, 0)
	if errno != 0 {
		_ = first.Close() // nothing was written
		return nil, errno
	}
	return &rootFile{File: adapted, file: first}, 0
}

// opener is a file system with one file.
type opener func() (fs.File, error)

// Open ignores the name.
func (o opener) Open(string) (fs.File, error) { return o() }

// Truncate sets the size.
func (f *rootFile) Truncate(size int64) wasisys.Errno {
	return wasisys.UnwrapOSError(f.file.Truncate(size))
}

// Sync flushes the file to the disk.
func (f *rootFile) Sync() wasisys.Errno { return wasisys.UnwrapOSError(f.file.Sync()) }

// Datasync is Sync.
func (f *rootFile) Datasync() wasisys.Errno { return f.Sync() }

// guardedFile is a file that is read and written in portions, and counted as open.
type guardedFile struct {
	*os.File
	guard *guard
}

func (f *rootFS) guarded(file *os.File) *guardedFile {
	f.guard.files++
	return &guardedFile{File: file, guard: f.guard}
}

// maxPortion is the maximum number of bytes read, written or generated per step, so that deadlines apply in between.
const maxPortion = 1 << 20

// portion calls do with at most maxPortion bytes of buf; the guest calls again for the rest.
func (f *guardedFile) portion(buf []byte, do func(buf []byte) (int, error)) (int, error) {
	if f.guard.expired() {
		return 0, wasisys.EINTR
	}
	return do(buf[:min(len(buf), maxPortion)])
}

// Read reads the next bytes.
func (f *guardedFile) Read(buf []byte) (int, error) { return f.portion(buf, f.File.Read) }

// ReadAt reads at an offset.
func (f *guardedFile) ReadAt(buf []byte, off int64) (int, error) {
	return f.portion(buf, func(buf []byte) (int, error) { return f.File.ReadAt(buf, off) })
}

// Write writes the next bytes.
func (f *guardedFile) Write(buf []byte) (int, error) { return f.portion(buf, f.File.Write) }

// WriteAt writes at an offset.
func (f *guardedFile) WriteAt(buf []byte, off int64) (int, error) {
	return f.portion(buf, func(buf []byte) (int, error) { return f.File.WriteAt(buf, off) })
}

// Close closes the file.
func (f *guardedFile) Close() error {
	err := f.File.Close()
	if err == nil {
		f.guard.files--
	}
	return err
}
