package checked

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	// MaxBytes is the maximum size of a text. Files that people write have at most some tens of kilobytes; the user named a larger one by
	// mistake.
	MaxBytes = 1 << 20
	// maxOpeners is the maximum number of opening brackets, which bounds the recursion of the parser.
	maxOpeners = 20_000
	// maxValues is the default maximum number of values and names. Large configurations have hundreds. Some uses take quadratic time: the column
	// of each value in a text of one line, the origins of MCP servers.
	maxValues = 20_000
	// maxKeys is the maximum size of the keys of all values together, in bytes: users keep them, and each repeats the names around its value.
	maxKeys = 64 << 20
	// maxDepth is the maximum nesting of values.
	maxDepth = 64
)

// Source is a text that holds one JSON value.
type Source struct {
	Name string // the name in problems, such as a path or a variable
	// Comments permits comments, trailing commas, a byte order mark, and a text without a value, which is an empty object.
	Comments bool
	NoLines  bool // the user does not see the lines of the text; positions are 0
	// MaxValues is the maximum number of values and names; default 20,000.
	MaxValues int

	text  []byte
	lines []int // offsets at which the lines start
	root  Node
}

// Parse parses the text. It returns nil after it reported an error.
func (s *Source) Parse(text []byte, r *Report) *Node {
	if s.Comments {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	s.text = append(bytes.Clone(text), '\n') // a comment may end the file
	s.lines = []int{0}
	for i, c := range s.text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	brackets := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("["))
	switch {
	case len(text) > MaxBytes:
		r.Add(Problem{File: s.Name, Message: fmt.Sprintf("%d bytes, more than %d", len(text), MaxBytes)})
	case bytes.HasPrefix(text, []byte("\ufeff")):
		r.Add(s.problem(0, "", "begins with a byte order mark", "save the file as UTF-8 without one"))
	case !utf8.Valid(text):
		bad := 0
		for c, size := utf8.DecodeRune(text); c != utf8.RuneError || size > 1; c, size = utf8.DecodeRune(text[bad:]) {
			bad += size
		}
		r.Add(s.problem(bad, "", "not UTF-8", "save the file as UTF-8"))
	case brackets > maxOpeners:
		r.Add(s.problem(0, "", fmt.Sprintf("%d brackets, more than %d", brackets, maxOpeners), ""))
	default:
		return s.parse(r)
	}
	return nil
}

func (s *Source) parse(r *Report) *Node {
	root, err := hujson.Parse(s.text)
	if err != nil && s.Comments {
		if _, err := hujson.Parse(append(bytes.Clone(s.text), "{}"...)); err == nil { // comments alone
			s.root = Node{Kind: Object}
			return &s.root
		}
	}
	if err == nil && !s.Comments && !root.IsStandard() {
		err = json.Unmarshal(s.text, new(json.RawMessage))
	}
	if err != nil {
		r.Add(s.syntax(err))
		return nil
	}
	values := 0
	for range root.All() {
		values++
	}
	if limit := cmp.Or(s.MaxValues, maxValues); values > limit {
		r.Add(s.problem(0, "", fmt.Sprintf("%d values and names, more than %d", values, limit), ""))
		return nil
	}
	tooDeep := 0
	if s.root, tooDeep = newNode(&root, s.text, 0); tooDeep >= 0 {
		r.Add(s.problem(tooDeep, "", fmt.Sprintf("nested deeper than %d levels", maxDepth), ""))
		return nil
	}
	if size := s.root.keyBytes(0); size > maxKeys {
		r.Add(s.problem(0, "", fmt.Sprintf("the keys of all values have %d bytes, more than %d", size, maxKeys), "shorten long names"))
		return nil
	}
	return &s.root
}

// Locate returns a problem with the value at key.
func (s *Source) Locate(key, message, remedy string) Problem {
	return s.problem(s.root.find("", key), key, message, remedy)
}

// At returns a problem at a place.
func (s *Source) At(p Place, message, remedy string) Problem {
	return s.problem(p.Offset, p.Key, message, remedy)
}

func (s *Source) problem(offset int, key, message, remedy string) Problem {
	line, column := s.Position(offset)
	return Problem{File: s.Name, Line: line, Column: column, Key: key, Message: message, Remedy: remedy}
}

// Position returns the line and the column, in characters, of the byte at offset; both from 1; 0 for a source without lines.
func (s *Source) Position(offset int) (line, column int) {
	if s.NoLines || s.lines == nil {
		return 0, 0
	}
	line = sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
	start := s.lines[line-1]
	for offset > start && offset < len(s.text) && !utf8.RuneStart(s.text[offset]) {
		offset-- // to the start of the character
	}
	return line, 1 + utf8.RuneCount(s.text[start:offset])
}

// syntax turns an error of a parser into a problem.
func (s *Source) syntax(err error) Problem {
	var line, column, offset int
	message := "not valid JSON: " + err.Error()
	if standard, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = max(0, int(standard.Offset)-1)
	} else if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr == nil {
		offset = s.lines[line-1] + column - 1
		message = "not valid JSON: " + errors.Unwrap(err).Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = max(0, len(bytes.TrimRight(s.text, " \t\r\n"))-1)
		message = "not valid JSON: it ends in the middle"
	}
	if place, _, ok := strings.Cut(message, ": invalid literal: "); ok { // which may be a secret
		message = place + ": invalid value"
	}
	return s.problem(offset, "", message, "")
}
