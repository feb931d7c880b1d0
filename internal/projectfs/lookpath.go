package projectfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// LookPath returns the first program with the name in PATH that is not in the project, where the model's commands could create one: while
// a virtual environment is active, PATH contains directories of the project. A name that is a path is the user's choice. Errors are those of
// exec.LookPath.
func LookPath(name, project string) (string, error) {
	if name != filepath.Base(name) || ownsPrograms(project) {
		return exec.LookPath(name)
	}
	project = Real(project)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); filepath.IsAbs(dir) && err == nil && !passes(project, found) {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: fmt.Errorf("%w outside of the project, whose programs are not run", exec.ErrNotFound)}
}

// Path returns path, a list such as PATH, without directories of the project and relative ones, for programs that start others.
func Path(path, project string) string {
	if ownsPrograms(project) {
		return path
	}
	project = Real(project)
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return !filepath.IsAbs(dir) || passes(project, dir) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// ownsPrograms reports whether a project contains the user's own programs, because it contains the home directory.
func ownsPrograms(project string) bool {
	project = Real(project)
	home, err := os.UserHomeDir()
	return filepath.Dir(project) == project || err == nil && Inside(project, Real(home))
}

// passes reports whether a path leads through a directory, possibly by links.
func passes(dir, path string) bool {
	for ; !Inside(dir, Real(path)); path = filepath.Dir(path) {
		if path == filepath.Dir(path) {
			return false
		}
	}
	return true
}
