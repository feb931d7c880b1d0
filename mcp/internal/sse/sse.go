// Package sse reads streams of server-sent events, see https://html.spec.whatwg.org/multipage/server-sent-events.html ("Parsing an event
// stream").
package sse

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"strconv"
	"time"
)

// Reader reads the events of a stream.
type Reader struct {
	// LastID is the ID of the latest complete event that has one: the stream can be resumed from there.
	LastID string
	// Retry is the delay that the server requests before the stream is resumed; 0 if it requests none.
	Retry time.Duration

	limit int
	lines *bufio.Scanner
	data  []byte // of the current event
}

// NewReader returns a reader of events of at most limit bytes.
func NewReader(in io.Reader, limit int) *Reader {
	r := &Reader{limit: limit}
	r.Resume(in)
	return r
}

// Resume continues with another stream.
func (r *Reader) Resume(in io.Reader) { r.lines = Lines(in, r.limit) }

// Next returns the kind and the data of the next event with data; the data is valid until the next call. The default kind is "message". An
// event at the end of the stream may lack its empty line. Errors: io.EOF at the end, bufio.ErrTooLong, errors of the stream.
func (r *Reader) Next() (kind string, data []byte, err error) {
	kind, id, hasID := "message", "", false
	r.data = r.data[:0]
	for r.lines.Scan() {
		line := r.lines.Bytes()
		if len(line) == 0 {
			if hasID {
				r.LastID, hasID = id, false
			}
			if len(r.data) > 0 {
				return kind, r.data[1:], nil
			}
			kind = "message"
			continue
		}
		name, value, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("\ufeff")), []byte(":")) // a byte order mark may begin the stream
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			kind = cmp.Or(string(value), "message")
		case "data":
			if r.data = append(append(r.data, '\n'), value...); len(r.data) > r.limit {
				return "", nil, bufio.ErrTooLong
			}
		case "id":
			if !bytes.ContainsRune(value, 0) {
				id, hasID = string(value), true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				r.Retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	switch err := r.lines.Err(); {
	case err != nil:
		return "", nil, err
	case len(r.data) > 0:
		return kind, r.data[1:], nil
	}
	return "", nil, io.EOF
}

// Lines returns a scanner of lines of at most limit bytes, which end in a newline, a carriage return, or both. Unlike bufio.ScanLines, it
// searches a long line that arrives in pieces only once.
func Lines(in io.Reader, limit int) *bufio.Scanner {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, limit)
	scanner.Split(new(splitter).split)
	return scanner
}

// splitter finds the ends of lines.
type splitter struct {
	returned bool // the last line ended in a carriage return, which a newline may follow
	searched int  // bytes of the current line that contain no line end
}

func (s *splitter) split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	start := 0
	if s.returned && bytes.HasPrefix(data, []byte("\n")) {
		start = 1
	}
	from := max(start, s.searched)
	end := bytes.IndexAny(data[from:], "\r\n")
	s.searched = 0
	switch {
	case end >= 0:
		end += from
		s.returned = data[end] == '\r'
		return end + 1, data[start:end], nil
	case atEOF && len(data) > start:
		return len(data), data[start:], nil
	case atEOF:
		return len(data), nil, nil
	}
	s.searched = len(data)
	return 0, nil, nil
}
