package confine

import (
	"path/filepath"
)

// Installation returns the files of a program: what lies in the directories for libraries next to that of the program, and next to
// the one a link leads to. It is never a directory that could hold something else, such as ~/.local.
func Installation(program string) []string {
	out := []string{program}
	paths := []string{program}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		paths = append(paths, real)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		root := filepath.Dir(dir)
		switch filepath.Base(dir) {
		case "bin":
			for _, name := range []string{"lib", "lib64", "libexec", "include", "conf", "pyvenv.cfg"} {
				out = append(out, filepath.Join(root, name))
			}
		case "shims": // of pyenv, rbenv, asdf, mise: scripts that look for the program in the directory above
			out = append(out, root)
		}
	}
	return out
}
