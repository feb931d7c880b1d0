package search

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// errPattern is wrapped by every error about a pattern.
var errPattern = errors.New("bad pattern")

// matcher finds the lines that match a pattern. Only one goroutine may use it; see clone.
type matcher struct {
	re    *regexp.Regexp // ^, $, \A and \z match at every line
	plain bool           // the pattern is one literal, so every line that contains it matches
	find  literals       // of every matching line
	next  []int          // the last index found of each literal
	lower []byte         // the block in lower case, if the literals fold
}

// newMatcher compiles pattern. A pattern that could only match across lines is an error.
func newMatcher(pattern string) (*matcher, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("%w: longer than %d bytes", errPattern, maxPattern)
	}
	re, err := regexp.Compile(pattern) // a line is matched as a whole text, so ^ and $ are its ends
	if err != nil {
		return nil, fmt.Errorf("%w %.200q: %w (the syntax is Go RE2; a literal bracket or brace needs a backslash)", errPattern, pattern, err)
	}
	tree, _ := syntax.Parse(pattern, syntax.Perl) // as Compile did
	lit := required(tree)
	for _, text := range lit.texts {
		if bytes.ContainsRune([]byte(text), '\n') {
			return nil, fmt.Errorf("%w %.200q: lines are matched separately, so the pattern cannot contain a line break", errPattern, pattern)
		}
	}
	plain := tree.Op == syntax.OpLiteral && len(lit.texts) == 1 && !lit.fold
	return &matcher{re: re, plain: plain, find: lit, next: make([]int, len(lit.texts))}, nil
}

// clone returns a matcher for another goroutine.
func (m *matcher) clone() *matcher {
	c := *m
	c.next, c.lower = make([]int, len(m.next)), nil
	return &c
}

// lines calls found with the bounds of each matching line of block, without the line
// break, in order, until found returns false.
func (m *matcher) lines(block []byte, found func(start, end int) bool) {
	for i := range m.next {
		m.next[i] = -1
	}
	if m.find.fold {
		m.lower = lowerASCII(m.lower, block)
	}
	for pos := 0; pos < len(block); {
		at := pos
		if len(m.find.texts) > 0 {
			if at = m.literal(block, pos); at == len(block) {
				return
			}
		}
		start := bytes.LastIndexByte(block[pos:at], '\n') + 1 + pos
		end := len(block)
		if i := bytes.IndexByte(block[at:], '\n'); i >= 0 {
			end = at + i
		}
		if m.matchLine(block[start:end]) && !found(start, end) {
			return
		}
		pos = end + 1
	}
}

// literal returns the first index at or after pos of a literal, or the length of block.
func (m *matcher) literal(block []byte, pos int) int {
	if m.find.fold {
		block = m.lower
	}
	first := len(block)
	for i, text := range m.find.texts {
		if m.next[i] < pos {
			if m.next[i] = bytes.Index(block[pos:], []byte(text)); m.next[i] < 0 {
				m.next[i] = len(block)
			} else {
				m.next[i] += pos
			}
		}
		first = min(first, m.next[i])
	}
	return first
}

// matchLine reports whether the pattern matches line, which has no line break. A \r at its end can be part of the match
// (\r$) or of the line break ($).
func (m *matcher) matchLine(line []byte) bool {
	if m.plain || m.re.Match(line) {
		return true
	}
	text, hadCR := bytes.CutSuffix(line, []byte{'\r'})
	return hadCR && m.re.Match(text)
}

// maxLiterals is the number of alternatives above which searching each one costs more than it saves.
const maxLiterals = 16

// literals is a set of texts; every match of a pattern contains at least one of them. Searching them is
// far cheaper than matching the pattern. The zero value means that no text is known.
type literals struct {
	texts []string // lower case if fold is set; never empty
	fold  bool     // ASCII letters match in both cases
}

// shortest returns the length of the shortest text, a measure of how selective the set is.
func (l literals) shortest() int {
	if len(l.texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(l.texts, func(a, b string) int { return len(a) - len(b) }))
}

// required returns the most selective set for re.
func required(re *syntax.Regexp) literals {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return foldLiteral(re.Rune)
		}
		if strings.ContainsRune(string(re.Rune), utf8.RuneError) {
			return literals{} // also matches bytes that are not UTF-8
		}
		return literals{texts: []string{string(re.Rune)}}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best literals
		for _, sub := range re.Sub {
			if l := required(sub); l.shortest() > best.shortest() {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		return requiredOfAny(re.Sub)
	}
	return literals{}
}

func requiredOfAny(subs []*syntax.Regexp) literals {
	var all literals
	for _, sub := range subs {
		l := required(sub)
		if len(l.texts) == 0 || len(all.texts) > 0 && l.fold != all.fold {
			return literals{}
		}
		all.fold = l.fold
		all.texts = append(all.texts, l.texts...)
	}
	if len(all.texts) > maxLiterals {
		return literals{}
	}
	return all
}

// foldLiteral returns the longest ASCII piece of a case-insensitive literal. k and s end a piece because they also match the
// Kelvin sign and the long s.
func foldLiteral(runes []rune) literals {
	isPlain := func(r rune) bool { return r < utf8.RuneSelf && !strings.ContainsRune("ksKS", r) }
	best := ""
	for _, piece := range strings.FieldsFunc(string(runes), func(r rune) bool { return !isPlain(r) }) {
		if len(piece) > len(best) {
			best = strings.ToLower(piece)
		}
	}
	if best == "" {
		return literals{}
	}
	return literals{texts: []string{best}, fold: true}
}

// lowerASCII returns a copy of data in buf, with ASCII letters in lower case.
func lowerASCII(buf, data []byte) []byte {
	buf = append(buf[:0], data...)
	for i, c := range buf {
		if 'A' <= c && c <= 'Z' {
			buf[i] = c + 'a' - 'A'
		}
	}
	return buf
}
