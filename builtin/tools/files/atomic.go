package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// errReadOnly is wrapped by the error about a file that nobody may write.
var errReadOnly = errors.New("file is read-only")

// location is where a file is, or will be: an open directory and a name in it. Nothing that happens to the path of the directory
// afterwards leads a change elsewhere. The caller closes it.
type location struct {
	name string
	path string           // for people
	dirs []*projectfs.Dir // the last one holds the file; before it those in which directories were created
	made []string         // made[i] was created in dirs[i]
	info fs.FileInfo      // of the content that was put here last
}

// at returns the place of the file at the real path, whose directory must exist.
func (t target) at(real string) (*location, error) {
	dir, name, err := projectfs.Parent(t.trusted, real)
	if err != nil {
		return nil, err
	}
	return &location{name: name, path: real, dirs: []*projectfs.Dir{dir}}, nil
}

// make returns the place of the target and creates the directories that are missing above it.
func (t target) make() (*location, error) {
	p := &location{name: filepath.Base(t.real), path: t.real}
	path := filepath.Dir(t.real)
	var missing []string // deepest first
	dir, err := projectfs.OpenDir(t.trusted, path)
	for errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		missing, path = append(missing, filepath.Base(path)), filepath.Dir(path)
		dir, err = projectfs.OpenDir(t.trusted, path)
	}
	if err != nil {
		return nil, explain(t.real, err)
	}
	p.dirs = append(p.dirs, dir)
	for i := len(missing) - 1; i >= 0; i-- {
		if err := p.descend(missing[i]); err != nil {
			p.undo()
			return nil, errors.Join(explain(t.real, err), p.close())
		}
	}
	return p, nil
}

// descend creates a directory in the last one, unless another program just did, and opens it.
func (p *location) descend(name string) error {
	err := p.dir().Mkdir(name, 0o777)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made := name
	if err != nil {
		made = "" // not ours to remove
	}
	p.made = append(p.made, made)
	next, err := p.dir().Dir(name)
	if err == nil {
		p.dirs = append(p.dirs, next)
	}
	return err
}

// dir returns the directory that holds the file.
func (p *location) dir() *projectfs.Dir { return p.dirs[len(p.dirs)-1] }

// undo removes the directories that were created, as far as they are empty.
func (p *location) undo() {
	for i := len(p.made) - 1; i >= 0; i-- {
		if p.made[i] == "" || p.dirs[i].Remove(p.made[i]) != nil {
			return // another program has put something there
		}
	}
}

func (p *location) close() error {
	var errs []error
	for _, d := range p.dirs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// write puts content in place: into a new file in the same directory that then takes the name, so that
// at every moment the old or the new content is there, whole. An existing file, described by old, keeps
// its mode and, as far as the system lets us, its owner; other names of it (hard links) keep the old
// content. A new file has old nil. When an error is returned the old content stands and nothing is left.
func (p *location) write(content []byte, old fs.FileInfo) error {
	staged, err := p.stage(content, old, nil)
	if err != nil {
		return err
	}
	return staged.commit()
}

// staged is a written file without its final name.
type staged struct {
	*location
	file *atomicfile.Staged
}

// stage writes content to a new file in the directory. A new file gets the mode of like, if that is not nil. Either commit or
// discard has to follow.
func (p *location) stage(content []byte, old, like fs.FileInfo) (*staged, error) {
	o := atomicfile.Options{Mode: 0o666, Sync: true} // less the umask
	if old != nil {
		if err := p.checkWritable(old); err != nil {
			return nil, explain(p.path, err)
		}
		o.Mode = 0o600 // until it has the content's own mode
	}
	o.Prepare = func(f *os.File) (err error) {
		if old != nil {
			err = takeAfter(f, old)
		}
		if err == nil && like != nil {
			err = f.Chmod(like.Mode())
		}
		if err == nil {
			p.info, err = f.Stat()
		}
		return err
	}
	file, err := p.dir().Stage(p.name, content, o)
	if err != nil {
		return nil, explain(p.path, err)
	}
	return &staged{p, file}, nil
}

// commit gives the file its name.
func (s *staged) commit() error {
	if err := s.file.Commit(); err != nil {
		return explain(s.path, err)
	}
	return nil
}

// checkWritable reports whether the existing file may be written. A rename would not mind.
func (p *location) checkWritable(info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%w (mode %s); make it writable first", errReadOnly, info.Mode())
	}
	f, _, err := p.dir().OpenForWriting(p.name)
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
