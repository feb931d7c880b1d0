package undo

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/host/snapshot"
)

// blocked is a file to restore where a directory is now.
type blocked struct {
	step     snapshot.Step // from no file
	original snapshot.Entry
	between  bool
}

// makeRoom plans files in place of directories, after all other steps: removing the last file of the session removes the directory. Another
// program's files in it are a conflict, even if force is set, because nothing could restore them.
func (p *restoring) makeRoom() error {
	for _, b := range p.blocked {
		others, err := p.othersIn(b.step.Path)
		if err != nil {
			return err
		}
		p.conflicts = append(p.conflicts, others...)
		if b.between && !p.force {
			p.conflicts = append(p.conflicts, b.step.Path.String())
		}
		p.step(b.step.Path, b.step.From, b.step.To, b.original)
	}
	return nil
}

// othersIn returns the contents of a directory that the planned steps do not remove, as paths of the project. The steps that do remove
// something from it then remove the directory, too.
func (p *restoring) othersIn(dir snapshot.Path) ([]string, error) {
	goes := map[snapshot.Path]bool{}
	for i, s := range p.steps {
		rest, below := strings.CutPrefix(string(s.Path), string(dir)+"/")
		if below && !s.To.Exists() {
			goes[s.Path] = true
			p.steps[i].To.Above = max(s.To.Above, strings.Count(rest, "/")+1)
		}
	}
	root := p.repo.Abs(dir)
	var others []string
	parents := map[snapshot.Path]bool{dir: true} // of removed files
	for path := range goes {
		for at := path; at != dir; at = at[:strings.LastIndexByte(string(at), '/')] {
			parents[at] = true
		}
	}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil || rel == "." {
			return err
		}
		path := dir + "/" + snapshot.Path(filepath.ToSlash(rel))
		if goes[path] || e.IsDir() && parents[path] {
			return nil
		}
		others = append(others, path.String())
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return others, err
}

// behindLink reports whether a directory above a file is a symbolic link now.
func (p *restoring) behindLink(path snapshot.Path) bool {
	for i := strings.LastIndexByte(string(path), '/'); i > 0; i = strings.LastIndexByte(string(path), '/') {
		path = path[:i]
		if info, err := os.Lstat(p.repo.Abs(path)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
