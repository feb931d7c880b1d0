package wire

import (
	"bytes"
	"errors"
	"io"
)

const (
	// shortText is the number of bytes that are kept of each text behind maxEvent bytes of an event. Names and IDs are shorter.
	shortText = 128
	// maxRest is the maximum number of bytes that are kept behind maxEvent.
	maxRest = 256 << 10
	// shortened is the name of an event whose texts were cut.
	shortened = "tenon.shortened"
)

// Repeater is a Decoder of a format with events that repeat what arrived in pieces, and so can be as long as the whole answer. The decoder gets
// such an event with its texts cut, which takes little memory.
type Repeater interface {
	Decoder
	// Repeats reports whether the event can be handled although its texts are cut. If not, it is an error.
	Repeats(data []byte) bool
}

// shortener reads server-sent events and cuts the JSON strings behind limit bytes of each. Such an event gets the name shortened.
type shortener struct {
	in    io.Reader
	limit int
	read  []byte // buffer of in
	out   []byte // the shortened bytes of read
	next  int    // the first byte of out that was not passed on
	err   error  // behind out

	kept    int  // bytes of the event
	cut     bool // a string of the event was cut
	line    int  // bytes of the line
	quoted  bool // within a string
	text    int  // bytes of the string
	escape  int  // bytes that an escape sequence can still have; maxEscape behind the backslash
	cutting bool // the rest of the string is left out
}

// maxEscape is the length of an escape sequence such as \u0041 without its backslash.
const maxEscape = 5

func newShortener(in io.Reader, limit int) *shortener {
	return &shortener{in: &lineEnds{in: in}, limit: limit, read: make([]byte, 16<<10)}
}

// Read reads shortened events.
func (s *shortener) Read(p []byte) (int, error) {
	for s.next == len(s.out) {
		if s.err != nil {
			return 0, s.err
		}
		var n int
		n, s.err = s.in.Read(s.read)
		s.out, s.next = s.out[:0], 0
		s.take(s.read[:n])
		switch {
		case s.kept > s.limit+maxRest:
			s.err = errEventTooBig
		case s.cut && errors.Is(s.err, io.EOF):
			s.err = io.ErrUnexpectedEOF // the event has no end, and so no name
		}
	}
	n := copy(p, s.out[s.next:])
	s.next += n
	return n, nil
}

// take handles the next bytes.
func (s *shortener) take(data []byte) {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if ended && s.line == 0 && s.kept+len(line) <= s.limit { // nearly all lines
			s.out = append(s.out, line...)
			s.kept += len(line)
			s.line = len(line)
		} else {
			for _, c := range line {
				s.add(c)
			}
		}
		if ended {
			s.endLine()
		}
		data = rest
	}
}

// add handles the next byte of a line.
func (s *shortener) add(c byte) {
	s.line++
	whole := s.escape == 0 // c begins a character or an escape sequence, or ends the string
	switch {
	case !s.quoted:
		s.quoted, s.text = c == '"', 0
	case whole && c == '"':
		s.quoted, s.cutting = false, false
	default:
		s.text++
		s.cutting = s.cutting || whole && s.kept > s.limit && s.text > shortText
		s.countEscape(c)
	}
	if s.cutting {
		s.cut = true
		return
	}
	s.out = append(s.out, c)
	s.kept++
}

// countEscape notes how a byte of a string continues an escape sequence.
func (s *shortener) countEscape(c byte) {
	switch {
	case s.escape == 0 && c == '\\':
		s.escape = maxEscape
	case s.escape == maxEscape && c != 'u':
		s.escape = 0
	case s.escape > 0:
		s.escape--
	}
}

// endLine ends a line, and with an empty one the event. The name is repeated before each further line, so it is the last one of the event.
func (s *shortener) endLine() {
	if s.line == 0 {
		s.kept, s.cut = 0, false
	}
	s.out = append(s.out, '\n')
	if s.cut {
		s.out = append(s.out, "event: "+shortened+"\n"...)
	}
	s.kept++
	s.line, s.quoted, s.escape, s.cutting = 0, false, 0, false
}
