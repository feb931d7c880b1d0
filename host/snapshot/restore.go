package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// ErrChanged means that a file is not as it was expected to be.
var ErrChanged = errors.New("file was changed meanwhile")

// Step takes one file from one state to another.
type Step struct {
	Path Path  `json:"path"`
	From Entry `json:"from"`
	To   Entry `json:"to"`
}

// tempPrefix begins the names of files on their way into place.
const tempPrefix = ".tenon-restore-"

// targets returns the contents that steps lead to.
func (r *Repo) targets(ctx context.Context, steps []Step) (map[string][]byte, error) {
	var hashes []string
	for _, s := range steps {
		if s.To.Exists() && s.To.Hash != "" {
			hashes = append(hashes, s.To.Hash)
		}
	}
	slices.Sort(hashes)
	return r.Contents(ctx, slices.Compact(hashes))
}

// Run takes every step, or none: when one fails, those before it are undone. A file that is neither as the step begins nor as it
// ends is ErrChanged; a content that is not stored any more is ErrGone, before anything is changed. Steps that were taken already are skipped, so Run can go on where an earlier one was cut off.
func (r *Repo) Run(ctx context.Context, steps []Step) error {
	contents, err := r.targets(ctx, steps)
	if err != nil {
		return err
	}
	taken := make([]Step, 0, len(steps))
	for _, s := range inOrder(steps) {
		if err = r.step(s, contents); err != nil {
			err = fmt.Errorf("%s: %w", s.Path, err)
			break
		}
		taken = append(taken, s)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, r.undo(ctx, taken))
}

// Resume takes the steps that can be taken and returns the paths of those that cannot.
func (r *Repo) Resume(ctx context.Context, steps []Step) ([]Path, error) {
	contents, err := r.targets(ctx, steps)
	if err != nil {
		return nil, err
	}
	var left []Path
	for _, s := range inOrder(steps) {
		r.sweep(s.Path)
		if r.step(s, contents) != nil {
			left = append(left, s.Path)
		}
	}
	return left, nil
}

func (r *Repo) undo(ctx context.Context, taken []Step) error {
	back := make([]Step, len(taken))
	for i, s := range taken {
		back[i] = Step{Path: s.Path, From: s.To, To: s.From}
	}
	contents, err := r.targets(ctx, back)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range inOrder(back) {
		errs = append(errs, r.step(s, contents))
	}
	return errors.Join(errs...)
}

// inOrder sorts steps so that each can be taken: files go before others come, the deepest first.
func inOrder(steps []Step) []Step {
	out := slices.Clone(steps)
	slices.SortStableFunc(out, func(a, b Step) int {
		if a.To.Exists() != b.To.Exists() {
			if b.To.Exists() {
				return -1
			}
			return 1
		}
		if a.To.Exists() {
			return strings.Compare(string(a.Path), string(b.Path))
		}
		return cmp.Or(strings.Count(string(b.Path), "/")-strings.Count(string(a.Path), "/"), strings.Compare(string(a.Path), string(b.Path)))
	})
	return out
}

// step takes one step.
func (r *Repo) step(s Step, contents map[string][]byte) error {
	now, err := r.Look(s.Path)
	if err != nil {
		return err
	}
	switch {
	case now.Same(s.To):
		return nil
	case !now.Same(s.From):
		return ErrChanged
	}
	name := r.abs(s.Path)
	if err := r.straight(s.Path); err != nil {
		return err
	}
	if now.Directory() || s.To.Directory() || !s.To.Exists() {
		if err := r.makeWay(name, now, s.To); err != nil || !s.To.Exists() {
			return err
		}
	}
	if s.To.Directory() {
		return os.MkdirAll(name, 0o777) //nolint:gosec // as the user's umask has it
	}
	if now.Hash == s.To.Hash && now.kind() == s.To.kind() { // the permissions alone
		return os.Chmod(name, fileMode(s.To.Mode))
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil { //nolint:gosec // as the user's umask has it
		return err
	}
	return r.put(name, s.To, contents[s.To.Hash])
}

// makeWay removes what is there. A directory that is to go stays when somebody has put something into it.
func (r *Repo) makeWay(name string, now, to Entry) error {
	if !now.Exists() {
		return nil
	}
	err := os.Remove(name)
	if now.Directory() && !to.Exists() && !isMissing(err) && err != nil {
		if list, readErr := os.ReadDir(name); readErr == nil && len(list) > 0 {
			return nil
		}
	}
	if err == nil && !to.Exists() {
		r.removeEmpty(filepath.Dir(name), to.Above)
	}
	return err
}

// straight refuses a path that leads through a symbolic link: the file would be another one.
func (r *Repo) straight(p Path) error {
	name := filepath.Dir(r.abs(p))
	for ; name != r.worktree && filepath.Dir(name) != name; name = filepath.Dir(name) {
		if info, err := os.Lstat(name); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%w: %s is a symbolic link now", ErrChanged, name)
		}
	}
	return nil
}

// put writes a file beside its place and moves it there.
func (r *Repo) put(name string, to Entry, content []byte) error {
	temp := tempName(name)
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	o := atomicfile.Options{Temp: filepath.Base(temp)}
	if to.Link() {
		return atomicfile.WriteLink(name, string(content), o)
	}
	o.Prepare = func(f *os.File) error { return f.Chmod(fileMode(to.Mode)) }
	return atomicfile.Write(name, content, o)
}

func tempName(name string) string {
	return filepath.Join(filepath.Dir(name), tempPrefix+hashOf(objectBlob, []byte(filepath.Base(name)))[:12])
}

// sweep removes what a step that was cut off left beside its file.
func (r *Repo) sweep(p Path) {
	_ = os.Remove(tempName(r.abs(p))) // mostly there is none
}

// removeEmpty removes directories that became empty, so many at most.
func (r *Repo) removeEmpty(dir string, most int) {
	for ; most > 0 && dir != r.worktree && os.Remove(dir) == nil; most-- {
		dir = filepath.Dir(dir)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// replaceFile writes a file so that after a crash it is the old one or the new one.
func replaceFile(name string, content []byte) error {
	return atomicfile.Write(name, content, atomicfile.Options{Sync: true})
}
