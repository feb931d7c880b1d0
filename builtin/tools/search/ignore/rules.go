package ignore

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// maxFileBytes is the maximum size of an ignore file; the rest is not read.
const maxFileBytes = 1 << 20

// rules are the patterns that apply in one directory: its own and those of the directories above it. The last one that matches decides; those of
// .ignore files come before all others.
type rules struct{ ignore, git []pattern }

// newRules adds the patterns in the ignore files among the entries of the directory at path, which are sorted. read returns the content of a file
// in it.
func newRules(above rules, path string, entries []fs.DirEntry, read func(name string) []byte) rules {
	below := len(strings.TrimSuffix(filepath.ToSlash(path), "/")) + 1
	r := rules{slices.Clip(above.ignore), slices.Clip(above.git)}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == ".git": // .gitignore files above do not apply
			r.git = parse(below, read(".git/info/exclude")) // none in a linked working tree, where .git is a file
		case !e.Type().IsRegular():
		case name == ".gitignore":
			r.git = append(r.git, parse(below, read(name))...)
		case name == ".ignore":
			r.ignore = append(r.ignore, parse(below, read(name))...)
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
	base := strings.LastIndexByte(path, '/') + 1
	for _, patterns := range [][]pattern{r.ignore, r.git} {
		for i := len(patterns) - 1; i >= 0; i-- {
			if patterns[i].match(path, base, isDir) {
				return !patterns[i].negated
			}
		}
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
	below   int    // where a path begins that is relative to the directory of the file
}

// parse parses the content of an ignore file; see pattern.below. It returns no errors: an invalid line matches
// nothing.
func parse(below int, content []byte) []pattern {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	var patterns []pattern
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		p := newPattern(trimSpaces(line))
		p.below = below
		patterns = append(patterns, p)
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

// match reports whether the pattern matches an absolute path, whose last component begins at base.
func (p *pattern) match(path string, base int, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if !p.base {
		base = p.below
	}
	return doublestar.MatchUnvalidated(p.glob, path[base:])
}
