package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/secret"
)

const (
	// maxFileBytes bounds one file. Configurations are a few kilobytes; what is larger was named by mistake.
	maxFileBytes = 1 << 20
	// maxOpeners bounds the brackets of one source, and with them the depth of the parser's recursion.
	maxOpeners = 20_000
	// maxDepth bounds the nesting of values.
	maxDepth = 64
)

// source is one text that holds configuration.
type source struct {
	layer  Layer
	name   string // for Origin: an absolute path, "env X" or "flag X"
	show   string // for problems: a path relative to the working directory, "X" or "flag X"
	dir    string // what relative paths in it are relative to
	text   []byte
	lines  []int // offsets at which the lines start; nil for sources without lines
	expand bool  // {env:X} and {file:p} are replaced
	root   hujson.Value
}

// parse fills root and lines. It returns false after it reported why it could not.
func (s *source) parse(text []byte, r *report) bool {
	s.text = append(bytes.TrimPrefix(text, []byte("\ufeff")), '\n') // a comment may end the file
	s.lines = []int{0}
	for i, c := range s.text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	if len(bytes.TrimSpace(s.text)) == 0 {
		s.root = hujson.Value{Value: &hujson.Object{}}
		return true
	}
	if !utf8.Valid(s.text) {
		r.problem(s.at(invalidUTF8(s.text), "", "not UTF-8", "save the file as UTF-8"))
		return false
	}
	if n := bytes.Count(s.text, []byte("{")) + bytes.Count(s.text, []byte("[")); n > maxOpeners {
		r.problem(s.at(0, "", fmt.Sprintf("%d brackets, more than %d", n, maxOpeners), ""))
		return false
	}
	var err error
	if s.root, err = hujson.Parse(s.text); err != nil {
		if _, err := hujson.Parse(append(bytes.Clone(s.text), "{}"...)); err == nil { // comments alone are an empty file
			s.root = hujson.Value{Value: &hujson.Object{}}
			return true
		}
		r.problem(s.syntax(err))
		return false
	}
	return true
}

// syntax turns an error of the parser, which knows line and column only as text, into a problem.
func (s *source) syntax(err error) Problem {
	var line, column int
	offset := 0
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr == nil {
		offset = s.lines[line-1] + column - 1
	}
	message := "not valid JSON"
	if inner := errors.Unwrap(err); inner != nil {
		message += ": " + inner.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = len(bytes.TrimRight(s.text, " \t\r\n")) - 1
		message = "not valid JSON: it ends in the middle"
	}
	if _, literal, ok := strings.Cut(message, ": invalid literal: "); ok {
		message = "not valid JSON: invalid value"
		switch {
		case literal[0] == '"' && strings.Contains(literal, "\n"):
			message = "not valid JSON: the string is not closed on its line"
		case len(literal) < secret.MinLength:
			message += fmt.Sprintf(" %q", literal)
		}
	}
	return s.at(offset, "", fmt.Sprintf("%s, near %q", message, s.excerpt(offset)), "")
}

// excerpt returns what stands around offset on its line. What may be a secret, anything long but the names of keys, is an ellipsis:
// a text that cannot be read does not tell what is one.
func (s *source) excerpt(offset int) string {
	const before, after = 20, 20
	line := s.lines[s.line(offset)-1]
	end := offset + bytes.IndexByte(s.text[offset:], '\n')
	if end < offset {
		end = len(s.text)
	}
	text := bytes.Clone(s.text[line:end])
	for _, run := range longRun.FindAllIndex(text, -1) {
		if !keyEnd.Match(text[run[1]:]) {
			copy(text[run[0]:run[1]], bytes.Repeat([]byte{hiddenByte}, run[1]-run[0]))
		}
	}
	text = text[max(0, offset-before-line):min(len(text), offset+after-line)]
	return strings.TrimSpace(hiddenRun.ReplaceAllString(strings.ToValidUTF8(string(text), ""), "…"))
}

// hiddenByte stands for what is not shown; no text that is excerpted has it as it is.
const hiddenByte = 0

var (
	longRun   = regexp.MustCompile(`[^\s"'\[\]{},:]{8,}`) // secret.MinLength
	keyEnd    = regexp.MustCompile(`^"\s*:`)
	hiddenRun = regexp.MustCompile(`\x00+`)
)

// line returns the line, from 1, of the byte at offset.
func (s *source) line(offset int) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
}

func (s *source) position(offset int) (line, column int) {
	if s.lines == nil {
		return 0, 0
	}
	line = s.line(offset)
	return line, 1 + utf8.RuneCount(s.text[s.lines[line-1]:offset])
}

// at returns a problem at offset.
func (s *source) at(offset int, key, message, remedy string) Problem {
	line, column := s.position(offset)
	return Problem{File: s.show, Line: line, Column: column, Key: key, Message: message, Remedy: remedy}
}

func (s *source) origin(offset int) Origin {
	line, column := s.position(offset)
	return Origin{Layer: s.layer, Source: s.name, Line: line, Column: column}
}

func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return 0
}

// readFile reads a regular file of at most maxFileBytes. Anything else (a pipe, a device) could block or never end. A file of the
// project must be inside of it, links resolved.
func (l *loader) readFile(layer Layer, path string) ([]byte, error) {
	open := projectfs.OpenRegular
	if layer == LayerProject {
		open = l.inside.Open
	}
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	text, cut, err := projectfs.ReadLimited(f, maxFileBytes)
	if err == nil && cut {
		err = fmt.Errorf("%d bytes, more than %d", info.Size(), maxFileBytes)
	}
	return text, err
}
