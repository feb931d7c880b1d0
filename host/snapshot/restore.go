package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// ErrChanged is returned if a file is not in the expected state.
var ErrChanged = errors.New("file has changed in the meantime")

// Step changes one file from one state to another.
type Step struct {
	Path Path  `json:"path"`
	From Entry `json:"from"`
	To   Entry `json:"to"`
}

// Run takes all steps or none: if one fails, the steps before it are undone. It returns ErrChanged for a file in neither state of its step, and
// ErrGone, before it changes anything, for a content that is no longer stored. Steps that were already taken are skipped, so Run can continue an
// interrupted Run.
func (r *Repo) Run(ctx context.Context, steps []Step) error {
	taken, _, err := r.attempt(ctx, steps, false)
	if err == nil {
		return nil
	}
	for i, s := range taken {
		taken[i].From, taken[i].To = s.To, s.From
	}
	_, _, undoErr := r.attempt(ctx, taken, true)
	return errors.Join(err, undoErr)
}

// Resume takes all possible steps and returns the paths of the others.
func (r *Repo) Resume(ctx context.Context, steps []Step) ([]Path, error) {
	_, left, err := r.attempt(ctx, steps, true)
	if len(left) > 0 {
		return left, nil
	}
	return nil, err
}

// attempt takes steps until one fails, or all possible ones. It returns the taken steps, and the paths of the failed ones; without them, the error
// is about the contents, and nothing was changed.
func (r *Repo) attempt(ctx context.Context, steps []Step, all bool) (taken []Step, failed []Path, err error) {
	var hashes []string
	for _, s := range steps {
		hashes = append(hashes, s.To.Hash)
	}
	contents, err := r.Contents(ctx, hashes)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range inOrder(steps) {
		if stepErr := r.step(s, contents); stepErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", s.Path, stepErr))
			if failed = append(failed, s.Path); !all {
				break
			}
			continue
		}
		taken = append(taken, s)
	}
	return taken, failed, err
}

// inOrder sorts steps so that each can be taken: removals before additions, the deepest first.
func inOrder(steps []Step) []Step {
	rank := func(s Step) int {
		if s.To.Exists() {
			return 1
		}
		return -strings.Count(string(s.Path), "/")
	}
	return slices.SortedStableFunc(slices.Values(steps), func(a, b Step) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Path, b.Path)) })
}

// root opens the directory that a restored file must stay in, and returns the file's name in it. Links that replace directories
// meanwhile do not lead out of it. The directory is the worktree. For a file outside of the worktree it is the directory above the missing
// ones, opened without following links.
func (r *Repo) root(p Path, missing int) (root *os.Root, name string, err error) {
	name = filepath.FromSlash(string(p))
	if !filepath.IsAbs(name) {
		root, err = os.OpenRoot(r.worktree)
		return root, name, err
	}
	dir := filepath.Dir(name)
	for ; missing > 0; missing-- {
		dir = filepath.Dir(dir)
	}
	if root, err = projectfs.OpenRoot([]string{r.worktree}, dir); errors.Is(err, projectfs.ErrChanged) {
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if err == nil {
		name, err = filepath.Rel(dir, name)
	}
	return root, name, err
}

// step takes one step.
func (r *Repo) step(s Step, contents map[string][]byte) error {
	now, err := r.Look(s.Path)
	if err != nil {
		return err
	}
	root, name, err := r.root(s.Path, max(now.Above, s.To.Above))
	if err != nil {
		return err
	}
	defer root.Close()
	_ = root.Remove(tempName(name)) // left by an interrupted step, if any
	if now.Directory() && s.To.Exists() && !s.To.Directory() && (!s.From.Exists() || now.Same(s.From)) {
		if err := removeTree(root, name); err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		now = s.From
	}
	switch {
	case now.Same(s.To):
		return nil
	case !now.Same(s.From):
		return ErrChanged
	}
	if err := straight(root, name); err != nil {
		return err
	}
	if !s.To.Exists() {
		return remove(root, name, now, s.To.Above)
	}
	if now.Hash == s.To.Hash && now.kind() == s.To.kind() { // only the permissions differ
		return root.Chmod(name, fileMode(s.To.Mode))
	}
	if s.To.Directory() && now.Exists() {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	if s.To.Directory() {
		return root.MkdirAll(name, 0o777) // the user's umask applies
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil { // the user's umask applies
		return err
	}
	return put(root, name, s.To, contents[s.To.Hash])
}

// removeTree removes a directory that contains only directories.
func removeTree(root *os.Root, name string) error {
	dirs := []string{name}
	var files []string
	for i := 0; i < len(dirs); i++ {
		list, err := readDir(root, dirs[i])
		if err != nil {
			return err
		}
		for _, e := range list {
			path := filepath.Join(dirs[i], e.Name())
			if e.IsDir() {
				dirs = append(dirs, path)
			} else {
				files = append(files, Path(filepath.ToSlash(path)).String())
			}
		}
	}
	if len(files) > 0 {
		slices.Sort(files)
		shown := strings.Join(files[:min(len(files), maxShown)], ", ")
		if more := len(files) - maxShown; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		return fmt.Errorf("a directory in its place contains %s", shown)
	}
	for _, dir := range slices.Backward(dirs) {
		if err := root.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// maxShown is the maximum number of files in an error.
const maxShown = 10

// readDir lists a directory. The file system of a root would refuse names that are not UTF-8.
func readDir(root *os.Root, name string) ([]fs.DirEntry, error) {
	dir, err := root.OpenFile(name, os.O_RDONLY|inPlace, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.ReadDir(-1)
}

// remove removes a file or directory, and then up to above empty directories above it. A directory that is not empty stays.
func remove(root *os.Root, name string, now Entry, above int) error {
	err := root.Remove(name)
	if now.Directory() && err != nil && !isMissing(err) {
		if list, readErr := readDir(root, name); readErr == nil && len(list) > 0 {
			return nil
		}
	}
	for dir := filepath.Dir(name); err == nil && above > 0 && dir != "." && root.Remove(dir) == nil; above-- {
		dir = filepath.Dir(dir)
	}
	return err
}

// straight refuses a path that leads through a symbolic link, because it would name another file.
func straight(root *os.Root, name string) error {
	for name = filepath.Dir(name); name != "."; name = filepath.Dir(name) {
		if info, err := root.Lstat(name); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%w: %s is a symbolic link now", ErrChanged, name)
		}
	}
	return nil
}

// put writes a file to its directory under another name and renames it.
func put(root *os.Root, name string, to Entry, content []byte) error {
	temp := tempName(name)
	if !to.Link() {
		chmod := func(f *os.File) error { return f.Chmod(fileMode(to.Mode)) }
		return atomicfile.WriteIn(root, name, content, atomicfile.Options{Temp: filepath.Base(temp), Prepare: chmod})
	}
	err := root.Symlink(string(content), temp)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(root.Remove(temp)))
	}
	return nil
}

func tempName(name string) string {
	return filepath.Join(filepath.Dir(name), atomicfile.TempStart+hashOf(objectBlob, []byte(filepath.Base(name)))[:12])
}

// replaceFile writes a file so that after a crash either the old or the new file exists. Only one process may write it at a time, because
// replaceFile removes the temporary file of a killed process.
func replaceFile(name string, content []byte) error {
	temp := name + ".new"
	if err := ignoreMissing(os.Remove(temp)); err != nil {
		return err
	}
	return atomicfile.Write(name, content, atomicfile.Options{Sync: true, MakeDirs: 0o700, Temp: filepath.Base(temp)})
}
