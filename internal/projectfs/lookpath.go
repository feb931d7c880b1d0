package projectfs

import (
	"os"
	"os/exec"
	"path/filepath"
)

// LookPath returns the first program of a name in PATH that is not in the project, where commands of the model could put one: PATH has
// directories of the project while a virtual environment is active. A path as name counts as the user's choice. A project with the home directory
// in it has the user's own programs. Errors are those of exec.LookPath.
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

// passes reports whether a path leads through a directory.
func passes(dir, path string) bool {
	for ; !Inside(dir, Real(path)); path = filepath.Dir(path) {
		if path == filepath.Dir(path) {
			return false
		}
	}
	return true
}
