package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// manyFiles is from how many files on they are stored in one pack: a file for each would take longer.
	manyFiles = 100
	// maxInner is how many repositories inside of a project have states, at each level; maxNesting how deep they may be.
	maxInner, maxNesting = 32, 3
	// pins is where references to trees are.
	pins = "refs/tenon"
	// modesFile keeps permissions from one process to the next.
	modesFile = "modes.json"
)

// errSlow is what Take gives up with.
var errSlow = fmt.Errorf("%w for a day: a snapshot of this project takes longer than %s", ErrOff, MaxTime)

// Tree is a state of a project's files.
type Tree struct {
	Hash    string
	LeftOut []Path // new or changed files that are too large or too many

	modes map[string]uint32
	inner map[string]*Tree
}

// Change is what became of one file.
type Change struct {
	Path   Path  `json:"path"`
	Before Entry `json:"before"`
	After  Entry `json:"after"`
}

// Take keeps the files as they are now. When little has changed since the last time it costs two reading git commands at once.
// Errors: ErrOff when it takes longer than MaxTime, and from then on for a day. Record and Run work all the same.
func (r *Repo) Take(ctx context.Context) (*Tree, error) {
	if r.slow.Load() {
		return nil, errSlow
	}
	limited, cancel := context.WithTimeoutCause(ctx, MaxTime, errSlow)
	defer cancel()
	t, err := r.take(limited, 0)
	if err != nil && context.Cause(limited) == errSlow {
		r.slow.Store(true)
		err = errors.Join(errSlow, os.WriteFile(filepath.Join(r.dir, slowMark), nil, 0o600))
	}
	return t, err
}

func (r *Repo) take(ctx context.Context, depth int) (t *Tree, err error) {
	var inner []string
	err = r.exclusive(ctx, func() error {
		t, inner, err = r.scan(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		// A damaged index is made anew, and so is what changed while it was read.
		r.tree = ""
		if os.Remove(filepath.Join(r.dir, "index")) == nil {
			t, inner, err = r.scan(ctx)
		}
		return err
	})
	if err != nil || depth == maxNesting {
		return t, err
	}
	for _, name := range inner[:min(len(inner), maxInner)] {
		one, err := r.takeInner(ctx, name, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if t.inner == nil {
			t.inner = map[string]*Tree{}
		}
		t.inner[name] = one
		for _, p := range one.LeftOut {
			t.LeftOut = append(t.LeftOut, Path(name)+p)
		}
	}
	return t, nil
}

// takeInner takes the state of a repository inside of the project, whose contents can be read here from then on.
func (r *Repo) takeInner(ctx context.Context, name string, depth int) (*Tree, error) {
	in := r.repoAt(name)
	t, err := in.take(ctx, depth)
	if err != nil {
		return nil, err
	}
	list := filepath.Join(r.dir, "objects", "info", "alternates")
	known, err := os.ReadFile(list)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	line := filepath.ToSlash(filepath.Join(in.dir, "objects")) + "\n"
	if strings.Contains(string(known), line) {
		return t, nil
	}
	if err := os.MkdirAll(filepath.Dir(list), 0o700); err != nil {
		return nil, err
	}
	return t, replaceFile(list, append(known, line...))
}

// repoAt returns the states of a repository inside of the project; its name ends in a slash.
func (r *Repo) repoAt(name string) *Repo {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inner[name] == nil {
		if r.inner == nil {
			r.inner = map[string]*Repo{}
		}
		sum := sha256.Sum256([]byte(name))
		r.inner[name] = &Repo{
			worktree: filepath.Join(r.worktree, filepath.FromSlash(name)), git: r.git, exclude: r.exclude,
			dir: filepath.Join(r.dir, "inner", hex.EncodeToString(sum[:8])),
		}
	}
	return r.inner[name]
}

// scan brings the index up to date and returns its tree, and the repositories inside of the project. The caller holds the lock.
func (r *Repo) scan(ctx context.Context) (*Tree, []string, error) {
	changed, fresh, err := r.dirty(ctx)
	if err != nil {
		return nil, nil, err
	}
	t := &Tree{}
	add := make([]string, 0, len(changed)+len(fresh))
	var remove, inner []string
	modes := maps.Clone(r.modes)
	if modes == nil {
		modes = map[string]uint32{}
	}
	tracked := map[string]bool{}
	for _, name := range changed {
		tracked[name] = true
	}
	for _, name := range append(changed, fresh...) {
		if strings.HasSuffix(name, "/") {
			inner = append(inner, name)
			continue
		}
		switch mode, fits := r.weigh(name); {
		case mode == 0: // gone, or no file any more
			delete(modes, name)
			if tracked[name] {
				add = append(add, name)
			}
		case !fits || len(add) >= MaxFiles:
			delete(modes, name)
			t.LeftOut = append(t.LeftOut, Path(name))
			if tracked[name] {
				remove = append(remove, name)
			}
		default:
			if mode&kindMask == kindFile && mode != 0o100644 && mode != 0o100755 {
				modes[name] = mode
			} else {
				delete(modes, name)
			}
			add = append(add, name)
		}
	}
	if err := r.update(ctx, add, remove); err != nil {
		return nil, nil, err
	}
	if !maps.Equal(modes, r.modes) {
		if err := writeModes(filepath.Join(r.dir, modesFile), modes); err != nil {
			return nil, nil, err
		}
		r.modes = modes
	}
	t.modes = r.modes
	// Another process may have brought the index up to date, so what this one knows of it may be old.
	stamp, _ := os.Stat(filepath.Join(r.dir, "index"))
	if r.tree == "" || len(add) > 0 || len(remove) > 0 || !sameIndex(stamp, r.stamp) {
		out, err := r.run(ctx, nil, nil, "write-tree")
		if err != nil {
			return nil, nil, err
		}
		r.tree = strings.TrimSpace(string(out))
		if err := r.pin(r.tree); err != nil {
			return nil, nil, err
		}
		r.stamp, _ = os.Stat(filepath.Join(r.dir, "index"))
	}
	t.Hash = r.tree
	return t, inner, nil
}

// pin keeps a tree from being removed: one file may be in the states of weeks, and must stay as long as the last of them.
func (r *Repo) pin(tree string) error {
	dir := filepath.Join(r.dir, pins)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, tree), []byte(tree+"\n"), 0o600)
}

func sameIndex(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// dirty lists the files that differ from the index and those that are not in it; ignored ones are left out.
func (r *Repo) dirty(ctx context.Context) (changed, fresh []string, err error) {
	type answer struct {
		names []string
		err   error
	}
	differ := make(chan answer, 1)
	go func() { // ends with git; waited for below
		var a answer
		if _, err := os.Stat(filepath.Join(r.dir, "index")); err == nil {
			a.names, a.err = r.names(ctx, "diff-files", "--name-only", "-z", "--ignore-submodules=all")
		}
		differ <- a
	}()
	fresh, err = r.names(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	a := <-differ
	return a.names, fresh, errors.Join(err, a.err)
}

func (r *Repo) names(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.run(ctx, nil, nil, args...)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// weigh returns the mode of a file, 0 when there is none, and whether it can be kept.
func (r *Repo) weigh(name string) (mode uint32, fits bool) {
	abs := filepath.Join(r.worktree, filepath.FromSlash(name))
	info, err := os.Lstat(abs)
	switch {
	case err != nil:
		return 0, false
	case info.Mode()&os.ModeSymlink != 0:
		return kindLink, true
	case !info.Mode().IsRegular():
		return 0, false
	case info.Size() > MaxFile:
		return kindFile, false
	}
	f, err := os.Open(abs)
	if err != nil {
		return kindFile, false // nobody may read it
	}
	return kindFile | unixMode(info), f.Close() == nil
}

// update puts files into the index as they are, and takes others out.
func (r *Repo) update(ctx context.Context, add, remove []string) error {
	var more []string
	if len(add) > manyFiles {
		more = []string{"core.bigFileThreshold=1", "core.compression=1"}
	}
	for _, one := range []struct {
		names []string
		args  []string
	}{
		{remove, []string{"update-index", "--force-remove", "-z", "--stdin"}},
		{add, []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"}},
	} {
		if len(one.names) == 0 {
			continue
		}
		slices.Sort(one.names)
		if _, err := r.run(ctx, []byte(strings.Join(one.names, "\x00")+"\x00"), more, one.args...); err != nil {
			return err
		}
	}
	return nil
}

// Changes returns what differs between two states, sorted by path.
func (r *Repo) Changes(ctx context.Context, before, after *Tree) ([]Change, error) {
	var out []Change
	if before.Hash != after.Hash {
		raw, err := r.run(ctx, nil, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before.Hash, after.Hash)
		if err != nil {
			return nil, err
		}
		if out, err = parseRaw(raw); err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i].Before.refine(before.modes[string(out[i].Path)])
		out[i].After.refine(after.modes[string(out[i].Path)])
	}
	for name, then := range before.inner {
		now := after.inner[name]
		if now == nil { // the repository is gone: what was in it is not known to be changed by the session
			continue
		}
		list, err := r.repoAt(name).Changes(ctx, then, now)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			c.Path = Path(name) + c.Path
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return out, nil
}

// refine puts in the permissions that a tree does not tell.
func (e *Entry) refine(mode uint32) {
	if mode != 0 && e.Mode&kindMask == kindFile {
		e.Mode = mode
	}
}

// parseRaw reads git's list of changes: ":MODE MODE HASH HASH STATUS", the path, each ended by a zero byte.
func parseRaw(raw []byte) ([]Change, error) {
	var out []Change
	for len(raw) > 0 {
		head, rest, ok := bytes.Cut(raw, []byte{0})
		name, rest, ok2 := bytes.Cut(rest, []byte{0})
		if !ok || !ok2 {
			return nil, fmt.Errorf("git diff-tree: cut off after %q", head)
		}
		var c Change
		var status string
		if _, err := fmt.Sscanf(string(head), ":%o %o %s %s %s", &c.Before.Mode, &c.After.Mode, &c.Before.Hash, &c.After.Hash, &status); err != nil {
			return nil, fmt.Errorf("git diff-tree: %q: %w", head, err)
		}
		for _, e := range []*Entry{&c.Before, &c.After} {
			if e.Mode == 0 {
				e.Hash = ""
			}
		}
		c.Path, raw = Path(name), rest
		out = append(out, c)
	}
	return out, nil
}

// readModes reads the permissions that an earlier process saw. Without them files that a command deleted come back with usual ones.
func readModes(name string) map[string]uint32 {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var stored map[Path]uint32
	if json.Unmarshal(content, &stored) != nil {
		return nil
	}
	out := map[string]uint32{}
	for p, mode := range stored {
		out[string(p)] = mode
	}
	return out
}

func writeModes(name string, modes map[string]uint32) error {
	stored := map[Path]uint32{}
	for p, mode := range modes {
		stored[Path(p)] = mode
	}
	content, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return replaceFile(name, content)
}
