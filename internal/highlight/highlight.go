// Package highlight splits source code into comments, strings, numbers and keywords. It reads code line by line and uses no grammar, so it
// never fails, and needs only a line and the state at its start.
package highlight

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens. Text is everything else.
const (
	Text Kind = iota
	Comment
	String
	Number
	Keyword
)

// Token is a piece of a line.
type Token struct {
	Kind Kind
	Text string
}

// State describes the comment or string that is open at the end of a line. The zero State means none.
type State struct {
	kind    Kind
	end     string // ends the open comment or string
	escapes bool   // a backslash in it quotes the next character
}

// maxLine is the length in bytes of the longest line that is split. Generated and minified code is longer.
const maxLine = 4 << 10

// Named returns the language with this name, as after a code fence, such as "go", "tsx" or "C++"; nil if it is unknown.
func Named(name string) *Language {
	return languages()[strings.ToLower(name)]
}

// Line splits a line, without its line break, that begins in the state. The concatenated tokens are the line, and adjacent tokens differ in
// kind. A nil Language returns the line as text. So does any language for a line longer than maxLine, which also ends an open comment or string,
// because its end may be in that line.
func (l *Language) Line(line string, state State) ([]Token, State) {
	s := scanner{language: l, line: line, state: state}
	switch {
	case line == "":
		return nil, state
	case l == nil || len(line) > maxLine:
		s.add(Text, len(line))
		return s.tokens, State{}
	}
	for s.pos < len(line) {
		s.next()
	}
	return s.tokens, s.state
}

// scanner splits one line.
type scanner struct {
	language *Language
	line     string
	pos      int
	state    State
	tokens   []Token
	unclosed string // marks of strings that do not end on the line, to search for each end only once
}

// add appends the next n bytes as a token.
func (s *scanner) add(kind Kind, n int) {
	text := s.line[s.pos : s.pos+n]
	if last := len(s.tokens) - 1; last >= 0 && s.tokens[last].Kind == kind {
		t := &s.tokens[last]
		t.Text = s.line[s.pos-len(t.Text) : s.pos+n]
	} else {
		s.tokens = append(s.tokens, Token{kind, text})
	}
	s.pos += n
}

func (s *scanner) next() {
	rest := s.line[s.pos:]
	if s.state.end != "" {
		n, closed := endOf(rest, s.state.end, s.state.escapes)
		s.add(s.state.kind, n)
		if closed {
			s.state = State{}
		}
		return
	}
	if s.open(rest) || s.comment(rest) || s.quoted(rest) {
		return
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r >= '0' && r <= '9':
		s.add(Number, len(rest)-len(strings.TrimLeftFunc(rest, inNumber)))
	case startsWord(r):
		n := size + len(rest[size:]) - len(strings.TrimLeftFunc(rest[size:], inWord))
		kind := s.language.kind(rest[:n])
		if kind == Text && strings.ContainsRune(prefixes, r) {
			n = size
		}
		s.add(kind, n)
	default:
		s.add(Text, size)
	}
}

// open begins a comment or a string of several lines.
func (s *scanner) open(rest string) bool {
	for _, p := range s.language.pairs {
		if strings.HasPrefix(rest, p.start) {
			s.add(p.kind, len(p.start))
			s.state = State{p.kind, p.end, p.escapes}
			return true
		}
	}
	return false
}

// comment takes a comment up to the end of the line.
func (s *scanner) comment(rest string) bool {
	for _, c := range s.language.comments {
		start, spaced := strings.CutPrefix(c, "~")
		if strings.HasPrefix(rest, start) && (!spaced || s.pos == 0 || strings.IndexByte(" \t;", s.line[s.pos-1]) >= 0) {
			s.add(Comment, len(rest))
			return true
		}
	}
	return false
}

// quoted takes a string that ends on this line. Without an end, only a double-quoted string extends to the end of the line: the other
// marks may be apostrophes.
func (s *scanner) quoted(rest string) bool {
	if char := s.language.char; char != "" && strings.HasPrefix(rest, char) {
		n := charLength(rest)
		s.add(map[bool]Kind{true: String, false: Text}[n > 1], n)
		return true
	}
	for _, mark := range s.language.quotes {
		body, ok := strings.CutPrefix(rest, mark)
		if !ok {
			continue
		}
		if strings.Contains(s.unclosed, mark) {
			s.add(Text, len(mark))
			return true
		}
		n, closed := endOf(body, mark, true)
		if !closed && mark != `"` {
			s.unclosed += mark
			s.add(Text, len(mark))
			return true
		}
		s.add(String, len(mark)+n)
		return true
	}
	return false
}

// endOf returns the length of text up to and including its end, or all of it if the end is missing.
func endOf(text, end string, escapes bool) (n int, closed bool) {
	for i := 0; i < len(text); i++ {
		if escapes && text[i] == '\\' {
			i++
			continue
		}
		if strings.HasPrefix(text[i:], end) {
			return i + len(end), true
		}
	}
	return len(text), false
}

// charLength returns the length of a character literal such as 'x' or '\n', or 1 for other text, such as a lifetime.
func charLength(rest string) int {
	_, size := utf8.DecodeRuneInString(rest[1:])
	if end := 1 + size; end < len(rest) && rest[1] != '\\' && rest[end] == '\'' {
		return end + 1
	}
	const longest = len(`'\U0010ffff'`)
	if n, closed := endOf(rest[1:min(len(rest), longest)], "'", true); closed && len(rest) > 1 && rest[1] == '\\' {
		return 1 + n
	}
	return 1
}

func inNumber(r rune) bool {
	return r >= '0' && r <= '9' || r == '_' || r == '.' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// prefixes are characters that keywords of some languages begin with.
const prefixes = "#@!"

// startsWord reports whether a word begins with r. A word includes a dot before it, so that a name after a dot is not a keyword.
func startsWord(r rune) bool {
	return r == '_' || r == '.' || strings.ContainsRune(prefixes, r) || unicode.IsLetter(r)
}

func inWord(r rune) bool { return r == '_' || r == '?' || unicode.IsLetter(r) || unicode.IsDigit(r) }
