package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errReadOnly is wrapped by the error about a file that nobody may write.
var errReadOnly = errors.New("file is read-only")

// writeAtomic puts content at the real path: into a new file beside it that then takes its name, so that
// at every moment the old or the new content is there, whole. An existing file, described by old, keeps
// its mode and, as far as the system lets us, its owner; other names of it (hard links) keep the old
// content. A new file has old nil. When an error is returned the old content stands and nothing is left.
func writeAtomic(path string, content []byte, old fs.FileInfo) error {
	staged, err := stage(path, content, old)
	if err != nil {
		return err
	}
	return staged.commit()
}

// staged is a file that is written and has not its name yet.
type staged struct{ temp, path string }

// stage writes content to a file beside path. Either commit or discard has to follow.
func stage(path string, content []byte, old fs.FileInfo) (*staged, error) {
	mode := fs.FileMode(0o666) // less the umask
	if old != nil {
		if err := checkWritable(path, old); err != nil {
			return nil, explain(path, err)
		}
		mode = 0o600 // until it has the content's own mode
	}
	s := &staged{temp: filepath.Join(filepath.Dir(path), ".tenon-"+rand.Text()), path: path}
	f, err := os.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, explain(path, err)
	}
	_, err = f.Write(content)
	if err == nil && old != nil {
		err = takeAfter(f, old)
	}
	if err == nil {
		// Without this a power cut could leave the name with no content on some file systems.
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(explain(path, err), s.discard())
	}
	return s, nil
}

// commit gives the file its name.
func (s *staged) commit() error {
	if err := os.Rename(s.temp, s.path); err != nil {
		return errors.Join(explain(s.path, err), s.discard())
	}
	return nil
}

// discard removes the file.
func (s *staged) discard() error { return os.Remove(s.temp) }

// checkWritable reports whether the existing file may be written. A rename would not mind.
func checkWritable(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%w (mode %s); make it writable first", errReadOnly, info.Mode())
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// explain says what a failed write means for the user, and what to do.
func explain(path string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		remedy = "the disk is full, free some space; "
	case errors.Is(err, fs.ErrPermission):
		remedy = "check the owner and mode of the file and its directory; "
	}
	return fmt.Errorf("write %q: %sthe file is unchanged: %w", filepath.ToSlash(path), remedy, err)
}

// makeParents creates the missing directories above path. undo removes them again, as far as they are
// empty.
func makeParents(path string) (undo func(), err error) {
	var missing []string // deepest first
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	undo = func() {
		for _, dir := range missing {
			if os.Remove(dir) != nil {
				return // somebody else has put something there
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		undo()
		return nil, explain(path, err)
	}
	return undo, nil
}
