package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	blockBytes   = 64 << 10 // size of the blocks in which a file is searched
	maxLineBytes = 1 << 20  // longer lines are searched in pieces
	sniffBytes   = 8000     // a NUL byte in these marks a binary file, as in git
	maxTextBytes = 2000     // of a matching line that is shown whole
	before, rest = 150, 450 // bytes shown of a longer line, before the start of the match and from there on
)

var bom = []byte("\ufeff")

// match is a matching line; line counts from 1.
type match struct {
	line int
	text string
}

// scanner finds the matching lines of files, in bounded memory. Only one goroutine may use it.
type scanner struct {
	m   *matcher
	buf []byte

	// the file being scanned
	line   int // of the start of the block
	limit  int
	found  []match
	binary bool
}

// errBinary is returned for a file with a NUL byte at its beginning or in a matching line.
var errBinary = errors.New("binary file (it contains NUL bytes); search it with bash: grep -a, or iconv first if it is text in UTF-16")

func newScanner(m *matcher) *scanner {
	return &scanner{m: m.clone(), buf: make([]byte, blockBytes)}
}

// scan returns at most limit matching lines of r. A byte order mark is not part of the first one. Errors: errBinary, and others of r and ctx.
func (s *scanner) scan(ctx context.Context, r io.Reader, limit int) ([]match, error) {
	s.line, s.limit, s.found, s.binary = 1, limit, nil, false
	for used, first := 0, true; ; first = false {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := io.ReadFull(r, s.buf[used:])
		used += n
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return nil, err
		}
		if first && bytes.IndexByte(s.buf[:min(used, sniffBytes)], 0) >= 0 {
			return nil, errBinary
		}
		if first && bytes.HasPrefix(s.buf[:used], bom) {
			used = copy(s.buf, s.buf[len(bom):used])
		}
		whole := used // up to here lines are complete
		if !last {
			whole = bytes.LastIndexByte(s.buf[:used], '\n') + 1
			if whole == 0 && len(s.buf) < maxLineBytes {
				s.buf = append(s.buf, make([]byte, len(s.buf))...)
				continue
			}
			whole = cmp.Or(whole, used)
		}
		if s.block(s.buf[:whole]); s.binary {
			return nil, errBinary
		}
		if last || len(s.found) == limit {
			return s.found, nil
		}
		used = copy(s.buf, s.buf[whole:used])
	}
}

// block searches complete lines, or a piece of a line that is too long.
func (s *scanner) block(block []byte) {
	counted := 0
	s.m.lines(block, func(start, end int) bool {
		s.line += bytes.Count(block[counted:start], []byte{'\n'})
		counted = start
		line := block[start:end]
		if s.binary = bytes.IndexByte(line, 0) >= 0; s.binary {
			return false
		}
		if n := len(s.found); n > 0 && s.found[n-1].line == s.line {
			return true // another piece of a long line
		}
		s.found = append(s.found, match{s.line, s.show(line)})
		return len(s.found) < s.limit
	})
	s.line += bytes.Count(block[counted:], []byte{'\n'})
}

// show returns a matching line for the output, or the part of a long one where the match begins.
func (s *scanner) show(line []byte) string {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(line) <= maxTextBytes {
		return strings.ToValidUTF8(string(line), "\ufffd")
	}
	at := 0
	if found := s.m.re.FindIndex(line); found != nil { // nil: the match needs the \r
		at = found[0]
	}
	part := line[max(at-before, 0):min(at+rest, len(line))]
	return fmt.Sprintf("…%s… (part of a long line)", strings.ToValidUTF8(string(part), ""))
}
