package files

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	defaultLimit = 2000     // lines of a page
	maxLines     = 1 << 30  // of an offset or a limit
	maxLineChars = 2000     // longer lines are cut
	maxPageBytes = 49 << 10 // of text with line numbers; 50 KB with the text around it
)

// page is a part of a text.
type page struct {
	lines  strings.Builder // "N: text" per line
	offset int             // number of the first requested line
	next   int             // number of the line after the last one in lines
	total  int             // number of lines in the text; -1: unknown
	capped bool            // maxPageBytes was reached before the limit
	hash   string          // of the whole text; empty if it is too large
}

// readPage reads limit lines of r from line offset (from 1). It never stores more than a
// page. It reads a text of at most maxHashed bytes to its end, to hash it and count its lines.
func readPage(ctx context.Context, r io.Reader, offset, limit int) (*page, error) {
	in := &countingReader{ctx: ctx, r: r, sum: sha256.New()}
	lines := bufio.NewReaderSize(in, 16<<10)
	p := &page{offset: offset, next: offset, total: -1}
	full := func() bool { return p.capped || p.next == offset+limit }
	for number := 1; ; number++ {
		if full() && in.n > maxHashed {
			return p, nil
		}
		keep := number >= offset && !full()
		text, length, err := readLine(lines, keep)
		if errors.Is(err, io.EOF) && length == 0 {
			p.total = number - 1
			if in.n <= maxHashed {
				p.hash = "sha256:" + hex.EncodeToString(in.sum.Sum(nil))
			}
			return p, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if keep {
			p.add(number, text)
		}
	}
}

func (p *page) add(number int, text []byte) {
	line := fmt.Sprintf("%d: %s\n", number, showLine(number, text))
	if p.lines.Len()+len(line) > maxPageBytes {
		p.capped = true
		return
	}
	p.lines.WriteString(line)
	p.next = number + 1
}

// note tells the model which lines the page contains and how to continue.
func (p *page) note() string {
	last, of := p.next-1, ""
	if p.total >= 0 {
		of = fmt.Sprintf(" of %d", p.total)
	}
	switch {
	case p.total == 0:
		return "(The file is empty.)"
	case p.total >= 0 && last == p.total:
		return fmt.Sprintf("(End of file: %s.)", plural(p.total, "line"))
	case p.capped:
		return fmt.Sprintf("(Output capped at 50 KB: lines %d-%d%s. Use offset=%d to continue.)", p.offset, last, of, p.next)
	}
	return fmt.Sprintf("(Lines %d-%d%s. Use offset=%d to continue.)", p.offset, last, of, p.next)
}

// partial reports whether the text has more lines after the page.
func (p *page) partial() bool { return p.total < 0 || p.next <= p.total }

// readLine reads one line. If keep is set, it returns the beginning of the line, as much as can be shown.
// length includes the whole line with its break. The error is io.EOF at the end, even after a last line without a break.
func readLine(r *bufio.Reader, keep bool) (text []byte, length int, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		length += len(piece)
		if room := maxLineChars*utf8.UTFMax + 2 - len(text); keep && room > 0 {
			text = append(text, piece[:min(len(piece), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, length, err
		}
	}
}

// showLine returns the text of a line for the model.
func showLine(number int, text []byte) string {
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\r'})
	if number == 1 {
		text = bytes.TrimPrefix(text, []byte(bom))
	}
	line := strings.ToValidUTF8(string(text), "\ufffd")
	chars := 0
	for i := range line {
		if chars == maxLineChars {
			return fmt.Sprintf("%s… (line cut after %d characters)", line[:i], maxLineChars)
		}
		chars++
	}
	return line
}

// countingReader hashes the first maxHashed bytes it reads. Its reads fail once the context has ended.
type countingReader struct {
	ctx context.Context
	r   io.Reader
	n   int64
	sum hash.Hash
}

func (c *countingReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	if c.n += int64(n); c.n <= maxHashed {
		c.sum.Write(b[:n])
	}
	return n, err
}
