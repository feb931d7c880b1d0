package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Expand returns the server ready to start: ${PLUGIN_ROOT} and ${PLUGIN_DATA} replaced in Args, the values of Env and Cwd,
// once and nowhere else; a Command that begins with ./ and Cwd absolute and checked to stay inside; both variables set in Env, last.
// root and data are absolute and exist. Servers that are not started come back as they are.
func (s Server) Expand(root, data string) (Server, error) {
	if s.Type != ServerStdio {
		return s, nil
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Server{}, err
	}
	replace := strings.NewReplacer("${"+rootVariable+"}", root, "${"+dataVariable+"}", data).Replace
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = replace(s.Args[i])
	}
	env := make(map[string]string, len(s.Env)+2)
	for name, value := range s.Env {
		env[name] = replace(value)
	}
	maps.Copy(env, Variables(root, data))
	s.Env = env
	if strings.HasPrefix(s.Command, "./") {
		if s.Command, err = Resolve(root, s.Command); err != nil {
			return Server{}, fmt.Errorf("command: %w", err)
		}
	}
	if s.Cwd, err = workingDirectory(s.Cwd, root, data); err != nil {
		return Server{}, fmt.Errorf("cwd: %w", err)
	}
	return s, nil
}

// Variables returns the variables that every process of a plugin has.
func Variables(root, data string) map[string]string {
	return map[string]string{rootVariable: root, dataVariable: data}
}

func workingDirectory(cwd, root, data string) (string, error) {
	dir, inData := cwdPath(cwd)
	if !inData {
		return Resolve(root, dir)
	}
	data, err := filepath.EvalSymlinks(data)
	if err != nil {
		return "", err
	}
	resolved, err := Resolve(data, dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; the plugin has to create it first", err)
	}
	return resolved, err
}

// Resolve returns the absolute path, links resolved, of a file or directory in root, whose links are resolved. Paths outside of root are
// errors.
func Resolve(root, rel string) (string, error) { return folder{root: root}.resolve(rel) }
