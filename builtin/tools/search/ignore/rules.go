package ignore

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/internal/gitignore"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// maxFileBytes is the maximum size of an ignore file; the rest is not read.
const maxFileBytes = 1 << 20

// rules are the patterns that apply in one directory. Those of .ignore files come before all others.
type rules struct{ ignore, git gitignore.Rules }

// newRules adds the patterns in the ignore files among the entries of the directory at path, which are sorted. read returns the content of a file
// in it.
func newRules(r rules, path string, entries []fs.DirEntry, read func(name string) []byte) rules {
	for _, e := range entries {
		switch name := e.Name(); {
		case name == ".git": // .gitignore files above do not apply
			r.git = gitignore.Rules(nil).Add(path, read(".git/info/exclude")) // none in a linked working tree, where .git is a file
		case !e.Type().IsRegular():
		case name == ".gitignore":
			r.git = r.git.Add(path, read(name))
		case name == ".ignore":
			r.ignore = r.ignore.Add(path, read(name))
		}
	}
	return r
}

// rulesAbove reads the rules of the directories above root, beginning at top. If root is not below top, they begin at the
// repository that contains root, if any.
func rulesAbove(root, top string) (r rules) {
	from := top
	if !projectfs.Inside(top, root) {
		from = repository(root)
	}
	files := projectfs.New([]string{top}, nil)
	above := projectfs.Upward(root, from)
	for _, dir := range above[:max(0, len(above)-1)] {
		var entries []fs.DirEntry
		for _, name := range []string{".git", ".gitignore", ".ignore"} {
			if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				entries = append(entries, fs.FileInfoToDirEntry(info))
			}
		}
		r = newRules(r, dir, entries, func(name string) []byte {
			f, _, err := files.Open(filepath.Join(dir, name))
			return readFile(f, err)
		})
	}
	return r
}

// repository returns the root of the repository that contains a directory, or the directory itself if none does.
func repository(root string) string {
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return root
		}
	}
}

// ignored reports whether the rules ignore path, an absolute path with slashes below all of
// their directories. It does not check whether a directory above it is ignored.
func (r rules) ignored(path string, isDir bool) bool {
	applies, ignored := r.ignore.Match(path, isDir)
	if !applies {
		_, ignored = r.git.Match(path, isDir)
	}
	return ignored
}

// readFile returns the content of a small file, or nothing: like in git, an unreadable ignore file has no
// rules.
func readFile(f *os.File, err error) []byte {
	if err != nil {
		return nil
	}
	content, _, err := projectfs.ReadLimited(f, maxFileBytes)
	if err != nil {
		return nil
	}
	return content
}
