package projectfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// maxLinks is the maximum number of symbolic links that Real follows, as in Linux.
const maxLinks = 40

// Real returns the absolute path with every symbolic link in it followed, including the last component. Parts that do not exist or cannot
// be read are kept as written, so it returns no error; so are those that a link leads to on another server. As in the system, and unlike in
// a cleaned path, .. after a link means the parent of the directory that the link leads to. On Windows, names have the form in which
// directories list them.
func Real(path string) string {
	sep := string(filepath.Separator)
	path = filepath.FromSlash(path)
	volume := filepath.VolumeName(path)
	current := volume + sep
	todo := strings.Split(path[len(volume):], sep)
	links := 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			current = filepath.Dir(current)
			continue
		}
		dir := strings.TrimSuffix(current, sep)
		next := dir + sep + nameOf(dir, name) // filepath.Join would clean the path again
		target, err := os.Readlink(next)
		if err != nil || target == "" || links == maxLinks { // usually not a link
			current = next
			continue
		}
		links++
		target = filepath.FromSlash(target)
		if Remote(target, path) {
			return filepath.Join(append([]string{target}, todo...)...)
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			current, target = volume+sep, target[len(volume):]
		}
		todo = append(strings.Split(target, sep), todo...)
	}
	return current
}

// Resolver resolves many paths that are in the same directories: it remembers the real paths of these. It is for systems where a file has one name.
type Resolver map[string]string

// Real returns what the function Real returns for an absolute path.
func (r Resolver) Real(path string) string {
	if path != filepath.Clean(path) { // a .. behind a link leads elsewhere
		return Real(path)
	}
	dir := filepath.Dir(path)
	if r[dir] == "" {
		r[dir] = Real(dir)
	}
	real := filepath.Join(r[dir], filepath.Base(path))
	if _, err := os.Readlink(real); err == nil {
		return Real(real)
	}
	return real
}

// localDevice matches other names of drives on Windows.
var localDevice = lazyregexp.New(`^\\\\[?.]\\([A-Za-z]:|Volume\{)`)

// Remote reports whether an absolute path names a server, as \\server\share does on Windows, or a device other than a drive, unless one of the
// directories is there, too. Even a look-up of such a path signs in to the server, which learns a hash of the user's password.
func Remote(path string, dirs ...string) bool {
	volume := filepath.VolumeName(filepath.FromSlash(path))
	return len(volume) > len("c:") && !localDevice().MatchString(volume) &&
		!slices.ContainsFunc(dirs, func(dir string) bool { return strings.EqualFold(filepath.VolumeName(dir), volume) })
}

// Overlap reports whether two absolute paths are equal or one is below the other. It follows links.
func Overlap(a, b string) bool {
	a, b = Real(a), Real(b)
	return Within(a, b) || Within(b, a)
}

// PrivateLinks returns the targets of the links in a directory of tenon and in its subdirectories, except those of the user's skills,
// which programs may read. If the directory cannot be read, it returns none.
func PrivateLinks(dir string) []string { return privateLinks(dir, 1) }

func privateLinks(dir string, depth int) (out []string) {
	entries, _ := os.ReadDir(dir) // fails for a file and for a missing directory
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Name() == "skill" || e.Name() == "skills":
		case e.Type()&os.ModeSymlink != 0:
			out = append(out, Real(path))
		case e.IsDir() && depth > 0 && e.Name() != "plugins": // the content of plugins is approved by its digest
			out = append(out, privateLinks(path, depth-1)...)
		}
	}
	return out
}

// Join returns a path that is relative to dir unless it is absolute.
func Join(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Follow is Join, but follows links before "..", as the system does.
func Follow(dir, path string) string {
	full := path
	if !filepath.IsAbs(path) {
		full = dir + string(filepath.Separator) + path
	}
	clean := Join(dir, path)
	if real := Real(full); real != Real(clean) {
		return real
	}
	return clean
}

// Pointed returns the path that git finds in the text of a file such as .git (after "gitdir: ") or commondir. A relative one begins in dir.
func Pointed(dir, text string) string {
	path, _, _ := strings.Cut(strings.TrimRight(text, "\r\n"), "\x00")
	return Follow(dir, path)
}

// FromHome returns a path that begins with ~/ as a path in the home directory, if that is known, and any other path as it is.
func FromHome(home, path string) string {
	if home != "" && len(path) > 1 && path[0] == '~' && os.IsPathSeparator(path[1]) {
		return filepath.Join(home, path[2:])
	}
	return path
}

// Inside reports whether path is dir or below it. It compares text: neither has to exist, and no link is followed.
func Inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Upward returns the directories from top down to dir, or only dir if top is not above it. Both are absolute. If dir is empty, it returns
// none.
func Upward(dir, top string) []string {
	if dir == "" {
		return nil
	}
	dir, top = filepath.Clean(dir), filepath.Clean(top)
	dirs := []string{dir}
	for at := dir; at != top; {
		parent := filepath.Dir(at)
		if parent == at {
			return []string{dir}
		}
		at = parent
		dirs = append(dirs, at)
	}
	slices.Reverse(dirs)
	return dirs
}

// Within reports whether the real path is root or below it. It uses Rel.
func Within(root, path string) bool {
	_, ok := Rel(root, path)
	return ok
}

// Rel returns the path from root to the real path, if that is root or below it. It also compares the directories above path by identity,
// because one directory can have several names: in another case, on several drives, or below /System/Volumes/Data on macOS.
func Rel(root, path string) (rel string, ok bool) {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return rel, true
	}
	rootInfo, err := os.Stat(root)
	if err != nil || Remote(path, root) {
		return "", false
	}
	for {
		if info, err := os.Lstat(path); err == nil && os.SameFile(info, rootInfo) {
			return filepath.Clean(rel), true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return "", false
		}
		rel = filepath.Join(filepath.Base(path), rel)
		path = parent
	}
}
