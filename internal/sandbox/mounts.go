package sandbox

import (
	"path/filepath"
	"strings"
)

// mount is a directory of a file system and its place in the tree.
type mount struct{ device, root, point string }

// escapes replaces the escape sequences of mountinfo by the characters that they stand for.
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// mountsOf parses the text of /proc/self/mountinfo. It returns nil if each file system is mounted only once, as on most systems.
func mountsOf(text string) (list []mount) {
	places := map[string]int{}
	repeated := false
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 {
			list = append(list, mount{f[2], escapes.Replace(f[3]), escapes.Replace(f[4])})
			places[f[2]]++
			repeated = repeated || places[f[2]] > 1
		}
	}
	if !repeated {
		return nil
	}
	return list
}

// elsewhere returns the other paths of a file, which need not exist, by its path without links, if file systems are mounted more than once. On WSL,
// for example, the root directory is also at /mnt/wslg/distro; on systems with an immutable root, the home directories are also in /sysroot.
//
// The result also has the other paths of the directories above the file on which something is mounted. A rule of Landlock is about a directory,
// whatever its path, so a rule for /mnt/distro/mnt would also be a rule for /mnt, and for everything that is mounted in it.
func elsewhere(mounts []mount, path string) (out []string) {
	at := mountAt(mounts, path)
	if at.point == "" { // in a chroot, whose root directory is in no mount
		return nil
	}
	stored := move(path, at.point, at.root)
	for _, m := range mounts {
		if m.device != at.device || !inside(m.root, stored) {
			continue
		}
		if other := move(stored, m.root, m.point); other != path && mountAt(mounts, other) == m {
			out = append(out, other)
		}
	}
	if parent := filepath.Dir(at.point); parent != at.point {
		for _, other := range elsewhere(mounts, parent) {
			if over := filepath.Join(other, filepath.Base(at.point)); mountAt(mounts, over) == mountAt(mounts, other) {
				out = append(out, over)
			}
		}
	}
	return out
}

// mountAt returns the mount that contains a path without links. Later mounts cover earlier ones.
func mountAt(mounts []mount, path string) (at mount) {
	for _, m := range mounts {
		if inside(m.point, path) && len(m.point) >= len(at.point) {
			at = m
		}
	}
	return at
}

// inside is projectfs.Inside for clean paths, which are compared often.
func inside(dir, path string) bool {
	return dir == "/" || strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// move moves a path below the directory from to the same place below the directory to.
func move(path, from, to string) string { return filepath.Join(to, path[len(from):]) }
