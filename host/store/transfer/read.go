package transfer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Read reads a file and checks it. Errors wrap ErrFile and name the place.
func Read(r io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%w: larger than %d MB", ErrFile, MaxBytes>>20)
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

// syntax returns the line of an error in the JSON.
func syntax(data []byte) error {
	err := json.Unmarshal(data, &json.RawMessage{})
	var at *json.SyntaxError
	if !errors.As(err, &at) {
		return err
	}
	if at.Offset >= int64(len(data)) {
		return fmt.Errorf("line %d: the JSON ends here, in the middle: %w", 1+bytes.Count(bytes.TrimSpace(data), []byte("\n")), err)
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at.Offset], []byte("\n")), err)
}

// decode decodes each message by itself, so that an error can name it. Fields of newer versions are left out.
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
