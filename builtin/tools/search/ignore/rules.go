package ignore

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// newRules reads the rules of the directory at path that are named among its entries. It returns parent
// when there are none, so that chains stay short.
func newRules(parent *rules, path string, entries []fs.DirEntry) *rules {
	r := &rules{parent: parent, path: strings.TrimSuffix(filepath.ToSlash(path), "/")}
	found := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == ".git":
			r.gitRoot, found = true, true
			r.exclude = parse(readFile(filepath.Join(gitDir(path, e), "info", "exclude")))
		case !e.Type().IsRegular():
		case name == ".gitignore":
			r.git, found = parse(readFile(filepath.Join(path, name))), true
		case name == ".ignore":
			r.ignore, found = parse(readFile(filepath.Join(path, name))), true
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
	for i := len(above) - 1; i >= 0; i-- {
		var entries []fs.DirEntry
		for _, name := range []string{".git", ".gitignore", ".ignore"} {
			if info, err := os.Lstat(filepath.Join(above[i], name)); err == nil {
				entries = append(entries, fs.FileInfoToDirEntry(info))
			}
		}
		r = newRules(r, above[i], entries)
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

// gitDir returns the directory that holds info/exclude for the .git entry of the directory at path: .git
// itself or, in a linked worktree, what the file .git points to.
func gitDir(path string, entry fs.DirEntry) string {
	git := filepath.Join(path, ".git")
	if !entry.Type().IsRegular() {
		return git
	}
	target, ok := bytes.CutPrefix(readFile(git), []byte("gitdir: "))
	if !ok {
		return git
	}
	git = resolve(path, string(bytes.TrimSpace(target)))
	if shared := bytes.TrimSpace(readFile(filepath.Join(git, "commondir"))); len(shared) > 0 {
		return resolve(git, string(shared))
	}
	return git
}

func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// readFile returns the content of a small file, or nothing: an ignore file that cannot be read has no
// rules, as for git.
func readFile(path string) []byte {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return nil
	}
	return content
}
