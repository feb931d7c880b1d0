package gitkeep

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// lockSuffix is the suffix of the file with which git locks another file.
const lockSuffix = ".lock"

var errMeanwhile = errors.New("another process is changing it")

// rewritten returns the text of a file of settings with the values of keys in was. git edits a copy that commands cannot access, so that no link
// in the repository redirects it.
func (k *keeper) rewritten(ctx context.Context, now *state, path string, keys []string, was map[string][]string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "tenon-git-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "config")
	if err := os.WriteFile(name, []byte(now.raw[path]), 0o600); err != nil {
		return nil, err
	}
	git := func(args ...string) {
		if err == nil {
			_, err = k.git(ctx, dir, append([]string{"config", "--file", name}, args...)...)
		}
	}
	for _, key := range keys {
		if _, there := now.settings[path][key]; there {
			git("--unset-all", key)
		}
		for _, value := range was[key] {
			git("--add", key, value)
		}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// replace writes a file below root as git does: under its lock, and only if the file still has the stamp. Links cannot lead out of root.
func replace(root, path string, text []byte, was stamp) error {
	return inRoot(root, path, func(r *os.Root, rel string) error {
		mode := os.FileMode(0o644)
		if info, err := r.Lstat(rel); err == nil && info.Mode().IsRegular() {
			mode = info.Mode().Perm()
		}
		s, err := atomicfile.Stage(r, rel, text, atomicfile.Options{Mode: mode, Temp: filepath.Base(rel) + lockSuffix})
		if errors.Is(err, os.ErrExist) {
			return errMeanwhile
		}
		if err != nil {
			return err
		}
		if stampOf(path) != was {
			return errors.Join(errMeanwhile, s.Discard())
		}
		if info, err := r.Lstat(rel); err == nil && info.IsDir() { // a repository in place of a file .git
			if err := r.Rename(rel, aside(rel)); err != nil {
				return errors.Join(err, s.Discard())
			}
		}
		return s.Commit()
	})
}

// aside returns a new name for a file, under which git does not use it.
func aside(path string) string { return path + ".changed-" + rand.Text()[:8] }

// remove removes a file below root, or a directory in its place.
func remove(root, path string) error {
	return inRoot(root, path, (*os.Root).RemoveAll)
}

// rename renames a file below root to a name of aside.
func rename(root, path, to string) error {
	return inRoot(root, path, func(in *os.Root, rel string) error {
		return in.Rename(rel, filepath.Join(filepath.Dir(rel), filepath.Base(to)))
	})
}

// inRoot calls f with a path below root, relative to it. Links cannot lead out of root. os.Root refuses all absolute links, so f gets the real path
// if it is below root.
func inRoot(root, path string, f func(r *os.Root, rel string) error) error {
	if real, parent := projectfs.Real(root), projectfs.Real(filepath.Dir(path)); projectfs.Inside(real, parent) {
		root, path = real, filepath.Join(parent, filepath.Base(path))
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	dir := filepath.Dir(rel)
	err = f(r, rel)
	info, failed := r.Lstat(dir)
	if !errors.Is(err, os.ErrPermission) || failed != nil || info.Mode()|0o700 == info.Mode() {
		return err
	}
	if err := r.Chmod(dir, info.Mode()|0o700); err != nil { // the user made it read-only
		return err
	}
	return errors.Join(f(r, rel), r.Chmod(dir, info.Mode()))
}
