package ignore

import (
	"bytes"
	"strings"
)

// pattern is one line of an ignore file.
type pattern struct {
	text    string // without the ! before it and the / after it
	negated bool   // a match means: not ignored
	dirOnly bool
	base    bool // has no slash, so it is compared with the last component of a path
	literal int  // number of bytes before the first wildcard or backslash
	suffix  bool // text is a * and a literal
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
	p.text, p.literal = text, literalLen(text)
	ending, star := strings.CutPrefix(text, "*")
	p.suffix = star && literalLen(ending) == len(ending)
	return p
}

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

func literalLen(s string) int {
	if i := strings.IndexAny(s, `*?[\`); i >= 0 {
		return i
	}
	return len(s)
}

// match reports whether the pattern matches rel, a path below the directory of its file. base is the
// index of rel's last component.
func (p *pattern) match(rel string, base int, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if p.base {
		rel = rel[base:]
		if p.suffix {
			return strings.HasSuffix(rel, p.text[1:])
		}
	}
	// Like git, match the rest separately: a ** right after the literal counts as one
	// at the start of the pattern.
	if !strings.HasPrefix(rel, p.text[:p.literal]) {
		return false
	}
	return wildmatch(p.text[p.literal:], rel[p.literal:])
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
