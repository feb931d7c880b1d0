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
// Linux mounts. On Windows, the names of Real are listed; rules on macOS ignore case.
func Listed(path string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" || len(path) > maxPath {
		return path
	}
	return listed(path, os.Lstat, os.ReadDir)
}

func listed(path string, lstat func(string) (fs.FileInfo, error), list func(string) ([]fs.DirEntry, error)) string {
	dir, name := filepath.Dir(path), filepath.Base(path)
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
	if dir == path {
		return path
	}
	return filepath.Join(listed(dir, lstat, list), name)
}
