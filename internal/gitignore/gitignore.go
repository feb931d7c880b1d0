// Package gitignore matches paths with the patterns of .gitignore files (gitignore(5)). A test of package search/ignore compares it with git on
// random trees.
//
// The library doublestar matches the patterns, with these differences from git: it compares characters, not bytes; a ] cannot be the first
// character of a set; and a set such as [!a] matches a slash. It does not know the classes [:cntrl:], [:graph:], [:print:] and [:punct:].
package gitignore

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// Rules are the patterns that apply in one directory: those of the directory and of the directories above it. The last one that
// matches decides.
type Rules []pattern

// pattern is one line of an ignore file.
type pattern struct {
	negated bool // a match means: not ignored
	dirOnly bool
	base    bool   // has no slash, so it is compared with the last component of a path
	glob    string // for package doublestar
	literal string // most patterns are a name, or the end of one behind a star: they are compared, which is much faster
	star    bool
	below   int // offset in an absolute path at which the path below the file's directory begins
}

// Add returns the rules with those in the content of an ignore file, which is in the directory dir, an absolute path. It returns no errors: an
// invalid line matches nothing.
func (r Rules) Add(dir string, content []byte) Rules {
	r = slices.Clip(r)
	below := len(strings.TrimSuffix(filepath.ToSlash(dir), "/")) + 1
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		p := newPattern(trimSpaces(line))
		p.below = below
		r = append(r, p)
	}
	return r
}

// Match reports whether a rule applies to path, an absolute path with slashes below all directories of the rules, and whether the
// last such rule ignores the path. It does not check whether a directory above the path is ignored.
func (r Rules) Match(path string, isDir bool) (applies, ignored bool) {
	base := strings.LastIndexByte(path, '/') + 1
	for _, p := range slices.Backward(r) {
		if p.match(path, base, isDir) {
			return true, !p.negated
		}
	}
	return false, false
}

// newPattern parses one pattern. An empty one matches nothing.
func newPattern(text string) (p pattern) {
	text, p.negated = strings.CutPrefix(text, "!")
	text, p.dirOnly = strings.CutSuffix(text, "/")
	p.base = !strings.Contains(text, "/")
	if !p.base {
		text = strings.TrimPrefix(text, "/")
	}
	if strings.Contains(text, "***") {
		text = stars().ReplaceAllString(text, "**")
	}
	if strings.Contains(text, "[:") {
		text = classes.Replace(text)
	}
	if strings.HasSuffix(text, "/**") {
		text += "/*" // does not match the directory itself
	}
	p.glob = braces.Replace(text)
	if literal, star := strings.CutPrefix(p.glob, "*"); !strings.ContainsAny(literal, `*?[\`) && (p.base || !star) {
		p.literal, p.star = literal, star
	}
	return p
}

var (
	classes = strings.NewReplacer(
		"[:alnum:]", "0-9A-Za-z", "[:alpha:]", "A-Za-z", "[:blank:]", " \t", "[:digit:]", "0-9",
		"[:lower:]", "a-z", "[:space:]", " \t\n\v\f\r", "[:upper:]", "A-Z", "[:xdigit:]", "0-9A-Fa-f",
	)
	// braces have no meaning in git. Escaped characters stay as they are.
	braces = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`)
)

// stars matches three or more stars, which mean the same as two.
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
	switch {
	case p.literal == "":
		return doublestar.MatchUnvalidated(p.glob, path[base:])
	case p.star:
		return strings.HasSuffix(path[base:], p.literal)
	}
	return path[base:] == p.literal
}
