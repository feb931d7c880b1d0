package protocol

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// maxMessageBytes is the maximum size of one message of a server, enough for a resource of 10 MiB in base64.
const maxMessageBytes = 16 << 20

// errTooLong is returned if a message of a server is too large.
var errTooLong = fmt.Errorf("the server sent a message of more than %d MiB", maxMessageBytes>>20)

// lineReader reads lines of limited length.
type lineReader struct{ *bufio.Scanner }

func newLineReader(r io.Reader, limit int) *lineReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, limit)
	return &lineReader{lines}
}

// next returns the next line without surrounding white space; it is valid until the next call. Errors: io.EOF
// after the last line, errTooLong, after which the reader cannot be used.
func (r *lineReader) next() ([]byte, error) {
	if r.Scan() {
		return bytes.TrimSpace(r.Bytes()), nil
	}
	if errors.Is(r.Err(), bufio.ErrTooLong) {
		return nil, errTooLong
	}
	return nil, cmp.Or(r.Err(), io.EOF)
}
