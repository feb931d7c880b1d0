package ignore

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// maxFileBytes is the maximum size of an ignore file; the rest is not read.
const maxFileBytes = 1 << 20

// rules are the rules that apply in one directory: its own and, through parent, those above it.
type rules struct {
	parent  *rules
	path    string // of the directory, with slashes but none at the end
	ignore  []pattern
	git     []pattern
	exclude []pattern // from .git/info/exclude
	gitRoot bool      // has a .git, so .gitignore files above do not apply
}

// newRules reads the ignore files among the entries of the directory at path. read returns the content of a file in it.
func newRules(parent *rules, path string, entries []fs.DirEntry, read func(name string) []byte) *rules {
	r := &rules{parent: parent, path: strings.TrimSuffix(filepath.ToSlash(path), "/")}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == ".git":
			r.gitRoot = true
			r.exclude = parse(read(".git/info/exclude")) // none in a linked working tree, where .git is a file
		case !e.Type().IsRegular():
		case name == ".gitignore":
			r.git = parse(read(name))
		case name == ".ignore":
			r.ignore = parse(read(name))
		}
	}
	return r
}

// rulesAbove reads the rules of the directories above root, beginning at top. If root is not below top, they begin at the
// repository that contains root, if any.
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

// repository returns how many of the directories above root belong to the repository that contains root.
func repository(root string, above []string) int {
	for i, dir := range append([]string{root}, above...) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return i
		}
	}
	return 0
}

// ignored reports whether the rules ignore path, an absolute path with slashes below all of
// their directories. It does not check whether a directory above it is ignored.
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

// pattern is one line of an ignore file.
type pattern struct {
	negated bool // a match means: not ignored
	dirOnly bool
	base    bool   // has no slash, so it is compared with the last component of a path
	glob    string // for package doublestar
}

// parse parses the content of an ignore file. It returns no errors: an invalid line matches
// nothing.
func parse(content []byte) []pattern {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	var patterns []pattern
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		patterns = append(patterns, newPattern(trimSpaces(line)))
	}
	return patterns
}

// newPattern parses one pattern. An empty one matches nothing.
func newPattern(text string) (p pattern) {
	text, p.negated = strings.CutPrefix(text, "!")
	text, p.dirOnly = strings.CutSuffix(text, "/")
	p.base = !strings.Contains(text, "/")
	if !p.base {
		text = strings.TrimPrefix(text, "/")
	}
	text = stars().ReplaceAllString(text, "**")
	if strings.HasSuffix(text, "/**") {
		text += "/*" // not the directory itself
	}
	// Braces have no meaning in git. Escaped characters stay as they are.
	p.glob = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`).Replace(text)
	return p
}

// stars matches stars that mean the same as two.
var stars = lazyregexp.New(`\*{3,}`)

// trimSpaces removes the unescaped spaces at the end of line.
func trimSpaces(line string) string {
	end := 0 // where the trailing spaces begin
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(line) {
				return line
			}
		}
		end = i + 1
	}
	return line[:end]
}

// match reports whether the pattern matches rel, a path below the directory of its file. base is the
// index of rel's last component.
func (p *pattern) match(rel string, base int, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if p.base {
		rel = rel[base:]
	}
	return doublestar.MatchUnvalidated(p.glob, rel)
}

// decide returns the decision of the last pattern that matches.
func decide(patterns []pattern, rel string, base int, isDir bool) (ignored, decided bool) {
	for i := len(patterns) - 1; i >= 0; i-- {
		if patterns[i].match(rel, base, isDir) {
			return !patterns[i].negated, true
		}
	}
	return false, false
}
