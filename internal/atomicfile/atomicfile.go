// Package atomicfile replaces files so that readers find either the old content or the new content.
package atomicfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Options are the options of a write. The zero value writes a file that only the user can read, and that may be lost or empty after a crash of the
// system.
type Options struct {
	// Mode holds the permissions of the new file, less the umask. Zero means 0600.
	Mode fs.FileMode
	// MakeDirs holds the permissions of missing directories that Write creates. Zero means that the directory must already exist.
	MakeDirs fs.FileMode
	// Sync stores the content on the disk before the file gets its name: after a crash of the system, the old file or the new one exists.
	Sync bool
	// SyncDir also stores the name on the disk: the new file survives a crash. Windows always does so.
	SyncDir bool
	// Temp is the name of the temporary file in the same directory, which must not exist. Empty means a random one.
	Temp string
	// Prepare, if not nil, is called with the complete file before it is synced and closed, for example to change its owner.
	Prepare func(*os.File) error
}

// TempStart begins the names of temporary files.
const TempStart = ".tenon-new-"

// Write replaces the file at path. It replaces a symbolic link and does not follow it. After an error the old file still exists, unless only
// SyncDir failed.
func Write(path string, content []byte, o Options) error {
	if o.MakeDirs != 0 {
		if err := os.MkdirAll(filepath.Dir(path), o.MakeDirs); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close() // only its files are written
	err = WriteIn(root, filepath.Base(path), content, o)
	if failed, ok := errors.AsType[*os.LinkError](err); ok { // of the rename; the removal may have failed too
		return &fs.PathError{Op: "write", Path: path, Err: failed.Err}
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok { // it names the temporary file
		return &fs.PathError{Op: "write", Path: path, Err: failed.Err}
	}
	return err
}

// WriteIn is Write for the file with the name in the directory root.
func WriteIn(root *os.Root, name string, content []byte, o Options) error {
	s, err := Stage(root, name, content, o)
	if err != nil {
		return err
	}
	return s.Commit()
}

// Staged is a written file without its final name. Its creator must call Commit or Discard before it closes the root.
type Staged struct {
	root       *os.Root
	temp, name string
	syncDir    bool
}

// Stage writes the new content of the file with the name, which may include directories below root, to a temporary file.
func Stage(root *os.Root, name string, content []byte, o Options) (*Staged, error) {
	temp := filepath.Join(filepath.Dir(name), cmp.Or(o.Temp, TempStart+rand.Text()))
	s := &Staged{root: root, name: name, temp: temp, syncDir: o.SyncDir}
	f, err := root.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(o.Mode, 0o600))
	if err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	if err == nil && o.Prepare != nil {
		err = o.Prepare(f)
	}
	if err == nil && (o.Sync || o.SyncDir) {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, s.Discard())
	}
	return s, nil
}

// Commit gives the file its name, in place of the old file. If it fails, the temporary file is removed.
func (s *Staged) Commit() error {
	if err := s.rename(); err != nil {
		return errors.Join(err, s.Discard())
	}
	if !s.syncDir || runtime.GOOS == "windows" {
		return nil
	}
	dir, err := s.root.Open(filepath.Dir(s.name))
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // the file system has no such operation
	}
	return errors.Join(err, dir.Close())
}

// On Windows a program that reads the old file delays its replacement. These bounds are one second in all.
const (
	attempts = 100
	pause    = 10 * time.Millisecond
)

func (s *Staged) rename() error {
	err := s.root.Rename(s.temp, s.name)
	for i := 1; i < attempts && err != nil && runtime.GOOS == "windows"; i++ {
		time.Sleep(pause)
		err = s.root.Rename(s.temp, s.name)
	}
	return err
}

// Discard removes the temporary file, unless Commit was called.
func (s *Staged) Discard() error { return s.root.RemoveAll(s.temp) }
