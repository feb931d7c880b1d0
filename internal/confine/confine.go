// Package confine starts processes that the kernel confines to some files: with Landlock, on Linux 5.13 and newer. It needs no
// helper program, no privileges and no user namespace. Elsewhere [Supported] returns an error.
//
//	Policy ──New──► Ruleset (once) ──Do──► a new thread restricts itself ──► starts the command, which inherits the restriction ──► ends
//
// A confined process, and every process it starts, cannot:
//
//   - open, create, rename or remove files that its [Policy] does not allow;
//   - read the memory or the environment of processes outside its command, or trace them;
//   - signal them, or connect to their abstract Unix sockets (ABI 6 and newer), or set their limits (seccomp);
//   - use the kernel's keyrings (seccomp);
//   - use files that this process inherited open;
//   - gain privileges by running a program (no_new_privs); as root, it has only the capabilities that building software needs.
//
// Landlock does not cover the network, named Unix sockets, reading and changing the attributes of files (stat, chmod, chown, times), and
// descriptors that the command inherits. Its rules allow whole trees, so nothing inside a writable directory can be excluded.
package confine

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ErrUnsupported is returned where the system cannot confine a process.
var ErrUnsupported = errors.New("the system cannot confine processes")

// Policy lists the files that confined processes may open. All others are refused. All paths are absolute. Links in them are followed when
// the ruleset is built; the rule applies to their target.
type Policy struct {
	// Write lists existing directories and files to read, write, create in, remove from and run. Device files are writable only if
	// they are listed themselves. Paths may be below a path of Hide.
	Write []string
	// Read lists directories and files to read and run. Paths that are missing, or cannot be resolved, are ignored. "/" means everything.
	Read []string
	// Hide lists paths, which need not exist, to exclude from Read. They must not be in a path of Write: see [ConflictError]. A
	// directory above a hidden path cannot be listed, and files created in it later are not readable until the ruleset is rebuilt.
	Hide []string
	// List lists paths of Hide whose directories, and all directories in them, can be listed unless they contain other paths of Hide.
	List []string
}

// ConflictError is returned for a policy that Landlock cannot enforce: a writable directory contains a hidden path.
type ConflictError struct {
	Write, Hidden string
}

// Error names both paths.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s is writable and contains %s, which must stay hidden; a confined process gets a directory as a whole", e.Write, e.Hidden)
}

// Gaps returns messages for the user about operations that newer kernels confine but the given ABI version of Landlock does not.
func Gaps(abi int) []string {
	var out []string
	for _, g := range []struct {
		abi  int
		text string
	}{
		{2, "renaming files between directories fails (needs Linux 5.19)"},
		{3, "files outside can be truncated (needs Linux 6.2)"},
		{5, "device files outside take ioctl calls (needs Linux 6.10)"},
		{6, "other processes of the same user can be signalled and reached by abstract sockets (needs Linux 6.12)"},
	} {
		if abi < g.abi {
			out = append(out, g.text)
		}
	}
	return out
}

// Installation returns the program and the library directories next to its directory. If the program is a link, the result includes those
// of its target. It never returns a directory that could contain other files, such as ~/.local.
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
		case "shims": // scripts of pyenv, rbenv, asdf and mise, which search the directory above for the program
			out = append(out, root)
		}
	}
	return out
}
