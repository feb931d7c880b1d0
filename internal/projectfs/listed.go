package projectfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxPath is the maximum length of the path of a file on Linux in bytes.
const maxPath = 4095

// Listed returns a path with the names that directories list if the system also finds the file in another case, as on a drive of Windows that
// Linux mounts. Directories above root stay as they are. On Windows, the names of Real are listed; rules on macOS ignore case.
func Listed(root, path string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" || len(path) > maxPath {
		return path
	}
	return listed(root, path, os.Lstat, os.ReadDir)
}

func listed(root, path string, lstat func(string) (fs.FileInfo, error), list func(string) ([]fs.DirEntry, error)) string {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if dir == path || path == root {
		return path
	}
	other := strings.Map(func(r rune) rune { // systems disagree about the case of other letters
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r ^ 0x20
		}
		return r
	}, name)
	if other == name { // it has none of these letters
		if other = strings.ToUpper(name); other == name {
			other = strings.ToLower(name)
		}
	}
	if info, err := lstat(path); err == nil && other != name {
		if found, err := lstat(filepath.Join(dir, other)); err == nil && os.SameFile(info, found) {
			entries, _ := list(dir) // without them, the name stays
			if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return Fold(e.Name()) == Fold(name) }); i >= 0 {
				name = entries[i].Name()
			}
		}
	}
	return filepath.Join(listed(root, dir, lstat, list), name)
}
