package ignore

import (
	"bytes"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

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
