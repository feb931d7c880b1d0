package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// commit applies changes. Everything likely to fail (no space, no permission) happens before the first file changes. If a later step fails, the
// error names the files that have changed; each file has its old or its new content.
func commit(call *sdk.ToolCall, changes []*change) (err error) {
	var all []*staged
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.file.Discard()) // does nothing after Commit
			_ = s.dir.Close()                        // only names in it change
		}
	}()
	for _, c := range changes {
		if c.remove {
			continue
		}
		s, err := c.stage()
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	var done []string
	for _, s := range all {
		if err := s.change.unchanged(); err != nil {
			return partial(call, err, done)
		}
		if err := s.file.Commit(); err != nil {
			return partial(call, explain(s.change.real, err), done)
		}
		done = append(done, s.change.real)
	}
	for _, c := range changes { // last, so that the content of a moved file always has a name
		if !c.remove {
			continue
		}
		if err := c.delete(changes); err != nil {
			return partial(call, explain(c.abs, err), done)
		}
		done = append(done, c.abs)
	}
	return nil
}

// unchanged returns an error if another program, such as a tenon in another terminal, has written the file since it was loaded: writing the new
// content to the disk takes long enough for that. It compares the content: checkWritable can change the number of the file (overlayfs).
func (c *change) unchanged() error {
	now := change{target: c.target}
	if err := now.load(); err != nil {
		return fmt.Errorf("%q: %w", c.name, err)
	}
	if now.found == c.found {
		return nil
	}
	return fmt.Errorf("%w: %q changed on disk at this moment; read it again, then change it", errNotSeen, c.name)
}

// partial adds the names of the files that have already changed to the error of a file that could not be changed.
func partial(call *sdk.ToolCall, err error, done []string) error {
	if len(done) == 0 {
		return err
	}
	names := make([]string, len(done))
	for i, path := range done {
		names[i] = paths.Display(call, path)
	}
	return fmt.Errorf("%w; changed before: %s", err, strings.Join(names, ", "))
}

// delete deletes the file, or the link, unless its name became that of a new file: they may differ only in case.
func (c *change) delete(changes []*change) error {
	dir, name, err := projectfs.Parent(c.trusted, c.itself)
	if err != nil {
		return err
	}
	defer dir.Close() // an error of Close does not undo the deletion
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	for _, other := range changes {
		if other.written != nil && os.SameFile(info, other.written) {
			return nil
		}
	}
	if err := c.unchanged(); err != nil {
		return err
	}
	return dir.Remove(name)
}

// errReadOnly is wrapped by the error for a file without write permission.
var errReadOnly = errors.New("file is read-only")

// staged is the new content of a file, in a temporary file in the same directory. The directory is open: later changes of its path cannot
// redirect the write.
type staged struct {
	change *change
	dir    *projectfs.Dir
	file   *atomicfile.Staged
}

// stage writes the new content to a temporary file. commit renames it, so that the file always has the complete old or new content. An existing
// file keeps its mode and, if the system allows it, its owner; its other names (hard links) keep the old content. After an error the old content
// is unchanged and no temporary file is left.
func (c *change) stage() (*staged, error) {
	dir, err := projectfs.MakeDir(c.trusted, filepath.Dir(c.real))
	if err != nil {
		return nil, explain(c.real, err)
	}
	name := filepath.Base(c.real)
	o := atomicfile.Options{Mode: 0o666, Sync: true} // less the umask
	if c.old != nil {
		err = checkWritable(dir, name, c.old)
		o.Mode = 0o600 // until the file gets its final mode
	}
	o.Prepare = func(f *os.File) (err error) {
		if c.old != nil {
			err = takeAfter(f, c.old)
		}
		if err == nil && c.mode != nil {
			err = f.Chmod(c.mode.Mode())
		}
		if err == nil {
			c.written, err = f.Stat()
		}
		return err
	}
	s := &staged{change: c, dir: dir}
	if err == nil {
		s.file, err = dir.Stage(name, c.after, o)
	}
	if err != nil {
		return nil, errors.Join(explain(c.real, err), dir.Close())
	}
	return s, nil
}

// checkWritable returns an error if the existing file may not be written, which a rename does not check.
func checkWritable(dir *projectfs.Dir, name string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%w (mode %s); make it writable first", errReadOnly, info.Mode())
	}
	f, _, err := dir.OpenForWriting(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// explain adds the consequence and the remedy to the error of a failed write.
func explain(path string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, errNotSeen):
		return err // has its own
	case errors.Is(err, syscall.ENOSPC):
		remedy = "the disk is full: free some space; "
	case errors.Is(err, fs.ErrPermission):
		remedy = "check the owner and mode of the file and its directory; "
	}
	return fmt.Errorf("write %q: %sthe file is unchanged: %w", filepath.ToSlash(path), remedy, err)
}
