package projectfs

import (
	"os"
	"os/exec"
	"path/filepath"
)

// LookPath returns the first program with the name in PATH that is not in the project, where the model's commands could create one: while
// a virtual environment is active, PATH contains directories of the project. A name that is a path is the user's choice. A project that
// contains the home directory contains the user's own programs. Errors are those of exec.LookPath.
func LookPath(name, project string) (string, error) {
	project = Real(project)
	home, err := os.UserHomeDir()
	if name != filepath.Base(name) || filepath.Dir(project) == project || err == nil && Inside(project, Real(home)) {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); filepath.IsAbs(dir) && err == nil && !passes(project, found) {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// passes reports whether a path leads through a directory, by links too.
func passes(dir, path string) bool {
	for ; !Inside(dir, Real(path)); path = filepath.Dir(path) {
		if path == filepath.Dir(path) {
			return false
		}
	}
	return true
}
