package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// errReadOnly is wrapped by the error for a file without write permission.
var errReadOnly = errors.New("file is read-only")

// location is the place of an existing or new file: an open directory and a name in it. Later changes of the directory's path
// cannot redirect a write. The caller closes it.
type location struct {
	name string
	path string             // for messages
	dirs []*projectfs.Dir   // the last one contains the file; the others are those in which directories were created
	made []string           // made[i] was created in dirs[i]
	file *atomicfile.Staged // written, without its final name
	info fs.FileInfo        // of file
}

// at returns the location of the file at the real path, whose directory must exist.
func (t target) at(real string) (*location, error) {
	dir, name, err := projectfs.Parent(t.trusted, real)
	if err != nil {
		return nil, err
	}
	return &location{name: name, path: real, dirs: []*projectfs.Dir{dir}}, nil
}

// make returns the location of the target and creates the missing directories above it.
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
	for _, name := range slices.Backward(missing) {
		if err := p.descend(name); err != nil {
			p.undo()
			return nil, errors.Join(explain(t.real, err), p.close())
		}
	}
	return p, nil
}

// descend creates a directory in the last one, unless another program has just created it, and opens it.
func (p *location) descend(name string) error {
	if err := p.dir().Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	p.made = append(p.made, name)
	next, err := p.dir().Dir(name)
	if err == nil {
		p.dirs = append(p.dirs, next)
	}
	return err
}

// dir returns the directory that contains the file.
func (p *location) dir() *projectfs.Dir { return p.dirs[len(p.dirs)-1] }

// undo removes the created directories that are empty.
func (p *location) undo() {
	for i, name := range slices.Backward(p.made) {
		if p.dirs[i].Remove(name) != nil {
			return // another program has used it
		}
	}
}

func (p *location) close() error {
	var err error
	for _, d := range p.dirs {
		err = errors.Join(err, d.Close())
	}
	return err
}

// stage writes content to a temporary file in the directory. commit renames it, so that the file always has the complete old or new
// content. An existing file, described by old, keeps its mode and, if the system allows it, its owner; its other names (hard links) keep
// the old content. For a new file, old is nil. Unless like is nil, the file gets its mode. After an error the old content is unchanged and
// no temporary file is left. The caller calls commit or p.file.Discard.
func (p *location) stage(content []byte, old, like fs.FileInfo) error {
	o := atomicfile.Options{Mode: 0o666, Sync: true} // less the umask
	if old != nil {
		if err := p.checkWritable(old); err != nil {
			return explain(p.path, err)
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
	var err error
	if p.file, err = p.dir().Stage(p.name, content, o); err != nil {
		return explain(p.path, err)
	}
	return nil
}

// commit renames the file to its name.
func (p *location) commit() error {
	if err := p.file.Commit(); err != nil {
		return explain(p.path, err)
	}
	return nil
}

// checkWritable returns an error if the existing file may not be written, which a rename does not check.
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

// explain adds the consequence and the remedy to the error of a failed write.
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
