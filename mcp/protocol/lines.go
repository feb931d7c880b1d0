package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxMessageBytes is the maximum size of one message of a server, enough for a resource of 10 MiB in base64.
const maxMessageBytes = 16 << 20

// errTooLong is returned if a message of a server is too large.
var errTooLong = fmt.Errorf("the server sent a message of more than %d MiB", maxMessageBytes>>20)

// lineReader reads lines of limited length.
type lineReader struct {
	in    *bufio.Reader
	limit int
	line  []byte
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next returns the next line without surrounding white space; it is valid until the next call. Errors: io.EOF
// after the last line, errTooLong, after which the reader cannot be used.
func (r *lineReader) next() ([]byte, error) {
	r.line = r.line[:0]
	for {
		chunk, err := r.in.ReadSlice('\n')
		if len(r.line)+len(chunk) > r.limit {
			return nil, errTooLong
		}
		r.line = append(r.line, chunk...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || len(r.line) > 0:
			return bytes.TrimSpace(r.line), nil
		default:
			return nil, err
		}
	}
}
