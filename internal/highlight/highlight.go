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
type State struct{ open pair }

// maxLine is the length in bytes of the longest line that is split. Generated and minified code is longer.
const maxLine = 1 << 10

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
	if open := &s.state.open; open.end != "" {
		n, closed := endOf(rest, open.end, open.escapes)
		s.add(open.kind, n)
		if closed {
			s.state = State{}
		}
		return
	}
	if s.begins(rest) {
		return
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r >= '0' && r <= '9':
		s.add(Number, len(rest)-len(strings.TrimLeftFunc(rest, inNumber)))
	case startsWord(r):
		n := size + len(rest[size:]) - len(strings.TrimLeftFunc(rest[size:], inWord))
		s.add(s.language.kind(rest[:n]), n)
	default:
		s.add(Text, size)
	}
}

// begins reads the beginning of a comment or a string, or all of it if it ends on this line. Without an end, only a double-quoted string extends
// to the end of the line: the other marks may be apostrophes.
func (s *scanner) begins(rest string) bool {
	for _, p := range s.language.pairs {
		if strings.HasPrefix(rest, p.start) {
			s.add(p.kind, len(p.start))
			s.state = State{p}
			return true
		}
	}
	for _, c := range s.language.comments {
		start, spaced := strings.CutPrefix(c, "~")
		if strings.HasPrefix(rest, start) && (!spaced || s.pos == 0 || strings.IndexByte(" \t;", s.line[s.pos-1]) >= 0) {
			s.add(Comment, len(rest))
			return true
		}
	}
	for _, mark := range s.language.quotes {
		body, ok := strings.CutPrefix(rest, mark)
		if !ok {
			continue
		}
		if n, closed := endOf(body, mark, true); closed || mark == `"` {
			s.add(String, len(mark)+n)
		} else {
			s.add(Text, len(mark))
		}
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

func inNumber(r rune) bool {
	return r >= '0' && r <= '9' || r == '_' || r == '.' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// startsWord reports whether a word begins with r. Some languages have keywords that begin with # @ or !, and a name after a dot is not a keyword.
func startsWord(r rune) bool {
	return strings.ContainsRune("_.#@!", r) || unicode.IsLetter(r)
}

func inWord(r rune) bool { return r == '_' || r == '?' || unicode.IsLetter(r) || unicode.IsDigit(r) }
