package transfer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// Read reads and checks a file. Errors wrap ErrFile and name the line or the key.
func Read(r io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%w: larger than %d MB", ErrFile, MaxBytes>>20)
	}
	if value.Crowded(data, maxValues) {
		return nil, fmt.Errorf("%w: more than %d JSON values; export the sessions of its subagents separately, or remove metadata of tool calls", ErrFile, maxValues)
	}
	var f *File
	if err = syntax(data); err == nil {
		f, err = decode(data, "", 0)
	}
	if err == nil {
		err = f.check("", map[string]bool{})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return f, nil
}

// syntax returns an error with its line if data is not JSON.
func syntax(data []byte) error {
	err := json.Unmarshal(data, &json.RawMessage{})
	at, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	end := ""
	if at.Offset >= int64(len(data)) {
		end = ", the end of the file"
	}
	return fmt.Errorf("line %d%s: %w", 1+bytes.Count(bytes.TrimRight(data[:at.Offset], " \t\r\n"), []byte("\n")), end, err)
}

// decode decodes the messages one by one, so that an error can name the message. It drops fields of newer versions.
func decode(data []byte, at string, depth int) (*File, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%schildren nest deeper than %d", at, maxDepth)
	}
	var raw struct {
		File
		Messages []json.RawMessage `json:"messages"`
		Children []json.RawMessage `json:"children"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("%s: unexpected %s", cmp.Or(strings.TrimSuffix(at+wrong.Field, "."), "the file"), wrong.Value)
		}
		return nil, fmt.Errorf("%s%w", at, err)
	}
	f := &raw.File
	if raw.Messages != nil {
		f.Messages = make([]sdk.MessageWithParts, len(raw.Messages))
	}
	for i, m := range raw.Messages {
		if err := json.Unmarshal(m, &f.Messages[i]); err != nil {
			return nil, fmt.Errorf("%smessages[%d]: %w", at, i, err)
		}
		raw.Messages[i] = nil // it may be large
	}
	for i, c := range raw.Children {
		child, err := decode(c, fmt.Sprintf("%schildren[%d].", at, i), depth+1)
		if err != nil {
			return nil, err
		}
		f.Children = append(f.Children, child)
	}
	return f, nil
}
