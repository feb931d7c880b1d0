package ignore

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// maxFileBytes bounds what is read of one ignore file; a larger one is cut.
const maxFileBytes = 1 << 20

// rules are the rules in force inside of one directory: its own and, through parent, those above it.
type rules struct {
	parent  *rules
	path    string // of the directory, with slashes and without one at the end
	ignore  []pattern
	git     []pattern
	exclude []pattern // of .git/info/exclude
	gitRoot bool      // has a .git, so .gitignore files above do not count
}

// newRules reads the rules of the directory at path that are named among its entries. read returns the
// content of a file in it. It returns parent when there are none, so that chains stay short.
func newRules(parent *rules, path string, entries []fs.DirEntry, read func(name string) []byte) *rules {
	r := &rules{parent: parent, path: strings.TrimSuffix(filepath.ToSlash(path), "/")}
	found := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == ".git":
			r.gitRoot, found = true, true
			r.exclude = parse(excludes(path, e, read))
		case !e.Type().IsRegular():
		case name == ".gitignore":
			r.git, found = parse(read(name)), true
		case name == ".ignore":
			r.ignore, found = parse(read(name)), true
		}
	}
	if !found {
		return parent
	}
	return r
}

// rulesAbove reads the rules that hold in the directory root because of the directories above it, from
// top on. When root is not below top they begin at the repository root is in, if any.
func rulesAbove(root, top string) *rules {
	var above []string // nearest first
	for dir := root; dir != top; {
		parent := filepath.Dir(dir)
		if parent == dir { // root is not below top
			above = above[:repository(root, above)]
			break
		}
		dir = parent
		above = append(above, dir)
	}
	var r *rules
	files := projectfs.New([]string{top}, nil)
	for i := len(above) - 1; i >= 0; i-- {
		var entries []fs.DirEntry
		for _, name := range []string{".git", ".gitignore", ".ignore"} {
			if info, err := os.Lstat(filepath.Join(above[i], name)); err == nil {
				entries = append(entries, fs.FileInfoToDirEntry(info))
			}
		}
		r = newRules(r, above[i], entries, func(name string) []byte {
			f, _, err := files.Open(filepath.Join(above[i], name))
			return readFile(f, err)
		})
	}
	return r
}

// repository returns how many of the directories above root belong to the repository root is in.
func repository(root string, above []string) int {
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		return 0
	}
	for i, dir := range above {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return i + 1
		}
	}
	return 0
}

// ignored reports whether the rules say to leave out path, an absolute path with slashes below all of
// their directories. That a directory above it is ignored is not looked at.
func (r *rules) ignored(path string, isDir bool) bool {
	base := strings.LastIndexByte(path, '/') + 1
	for d := r; d != nil; d = d.parent {
		below := len(d.path) + 1
		if ignored, decided := decide(d.ignore, path[below:], base-below, isDir); decided {
			return ignored
		}
	}
	for d := r; d != nil; d = d.parent {
		below := len(d.path) + 1
		if ignored, decided := decide(d.git, path[below:], base-below, isDir); decided {
			return ignored
		}
		if !d.gitRoot {
			continue
		}
		ignored, _ := decide(d.exclude, path[below:], base-below, isDir)
		return ignored
	}
	return false
}

// excludes returns the content of info/exclude for the .git entry of the directory at path: of .git itself or, in a linked
// worktree, of the repository that the file .git names, wherever that is.
func excludes(path string, entry fs.DirEntry, read func(name string) []byte) []byte {
	if !entry.Type().IsRegular() {
		return read(".git/info/exclude")
	}
	target, ok := bytes.CutPrefix(read(".git"), []byte("gitdir: "))
	if !ok {
		return nil
	}
	git := resolve(path, string(bytes.TrimSpace(target)))
	if shared := bytes.TrimSpace(readFrom(filepath.Join(git, "commondir"))); len(shared) > 0 {
		git = resolve(git, string(shared))
	}
	return readFrom(filepath.Join(git, "info", "exclude"))
}

func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// readFrom returns the content of a file of git outside of the project.
func readFrom(path string) []byte {
	f, _, err := projectfs.OpenRegular(path)
	return readFile(f, err)
}

// readFile returns the content of a small file, or nothing: an ignore file that cannot be read has no
// rules, as for git.
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
