package jsonline

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Codes of errors that JSON-RPC 2.0 defines, section 5.1 of https://www.jsonrpc.org/specification.
const (
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
)

// MaxLine is the maximum size of a message, in bytes, without its newline: a body of 16 MiB, and room for what surrounds it.
const MaxLine = maxNotice + 64<<10

// maxNotice is the maximum size of the parameters of a notification.
const maxNotice = 16 << 20

// shownBytes is how much of a bad message the error shows.
const shownBytes = 80

var (
	// ErrBadMessage is wrapped by errors of lines that are not messages. The error shows the first bytes of the line.
	ErrBadMessage = errors.New("bad message")
	// ErrTooLong is wrapped by errors of lines of more than MaxLine bytes.
	ErrTooLong = errors.New("line too long")
)

// Message is a request (ID and Method), a notification (Method) or a response (ID, and Result or Error).
type Message struct {
	ID     uint64 // 0: none
	Method string // empty in responses
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

// Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Decode decodes a line, and keeps no part of it. Unknown fields are ignored. Errors wrap ErrBadMessage.
func Decode(line []byte) (*Message, error) {
	m, version, hasID := &Message{}, "", false
	d := jsontext.NewScanner(bytes.Clone(line))
	ok := d.Each('{', '}', func() bool {
		name, ok := d.Name()
		if !ok {
			return false
		}
		switch string(name) {
		case "jsonrpc":
			version, ok = d.Text()
		case "method":
			m.Method, ok = d.Text()
		case "params":
			m.Params, ok = d.Raw()
		case "result":
			m.Result, ok = d.Raw()
		case "error":
			var body []byte
			body, ok = d.Raw()
			ok = ok && json.Unmarshal(body, &m.Error) == nil
		case "id":
			var number []byte
			number, ok = d.Raw()
			hasID = string(number) != "null"
			m.ID, _ = strconv.ParseUint(string(number), 10, 64)
		default:
			_, ok = d.Raw()
		}
		return ok
	})
	switch {
	case !ok || !d.AtEnd():
		return nil, bad(line, cmp.Or(d.SyntaxError(), errNoMessage).Error())
	case version != "2.0":
		return nil, bad(line, `want "jsonrpc": "2.0"`)
	case hasID && m.ID == 0:
		return nil, bad(line, "want a positive number as id")
	case m.Method == "" && m.ID == 0:
		return nil, bad(line, "neither a method nor an id")
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return nil, bad(line, "both a method and a result")
	case m.Method == "" && (m.Result != nil) == (m.Error != nil):
		return nil, bad(line, "want either a result or an error")
	}
	return m, nil
}

// errNoMessage is the problem of a line that is JSON of another form.
var errNoMessage = errors.New("want an object with the fields of a message")

func bad(line []byte, problem string) error {
	shown, more := line, ""
	if len(shown) > shownBytes {
		shown, more = shown[:shownBytes], "…"
	}
	return fmt.Errorf("%w: %s: %q%s", ErrBadMessage, problem, shown, more)
}

// encode appends the message and a newline. Params, Result and Data are JSON.
func (m *Message) encode(out []byte) ([]byte, error) {
	out = append(out, `{"jsonrpc":"2.0"`...)
	if m.ID != 0 {
		out = strconv.AppendUint(append(out, `,"id":`...), m.ID, 10)
	}
	switch {
	case m.Method != "":
		out = jsontext.AppendString(append(out, `,"method":`...), m.Method)
		out = appendLine(append(out, `,"params":`...), m.Params, "{}")
	case m.Error != nil:
		body, err := jsontext.Marshal(m.Error)
		if err != nil {
			return nil, err
		}
		out = append(append(out, `,"error":`...), body...)
	default:
		out = append(out, `,"result":`...)
		out = appendLine(out, m.Result, "null")
	}
	return append(out, "}\n"...), nil
}

// appendLine appends JSON without its line breaks, or the text otherwise if body is empty.
func appendLine(out, body []byte, otherwise string) []byte {
	switch {
	case len(body) == 0:
		return append(out, otherwise...)
	case bytes.IndexByte(body, '\n') < 0:
		return append(out, body...)
	}
	compact := bytes.NewBuffer(out)
	if json.Compact(compact, body) != nil {
		return append(out, otherwise...)
	}
	return compact.Bytes()
}

// reader reads lines.
type reader struct {
	buffer *bufio.Reader
	long   []byte // a line that exceeds the buffer
}

// next returns the next line without its newline; it is valid until the next call. The end of the input is io.EOF, in the middle of a line
// io.ErrUnexpectedEOF. After os.ErrDeadlineExceeded, next continues with the line.
func (r *reader) next() ([]byte, error) {
	for {
		part, err := r.buffer.ReadSlice('\n')
		if len(r.long)+len(part) > MaxLine+1 {
			return nil, fmt.Errorf("%w: more than %d bytes: %q…", ErrTooLong, MaxLine, append(r.long, part...)[:shownBytes])
		}
		switch {
		case err == nil && len(r.long) == 0:
			return part[:len(part)-1], nil
		case err == nil:
			line := append(r.long, part[:len(part)-1]...)
			if r.long = line[:0]; len(line) > keptBytes {
				r.long = nil
			}
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
			r.long = append(r.long, part...)
		case errors.Is(err, os.ErrDeadlineExceeded):
			r.long = append(r.long, part...)
			return nil, err
		case errors.Is(err, io.EOF) && len(r.long)+len(part) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// keptBytes is the maximum size of a buffer for long lines that is kept for reuse.
const keptBytes = 1 << 20
