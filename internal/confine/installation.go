package confine

import (
	"path/filepath"
)

// Installation returns the program and the library directories next to its directory; if the program is a link, also those of its target.
// It never returns a directory that could contain other files, such as ~/.local.
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
		case "shims": // of pyenv, rbenv, asdf, mise: scripts that search the directory above for the program
			out = append(out, root)
		}
	}
	return out
}
