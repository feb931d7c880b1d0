package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	d := &decoder{dec: json.NewDecoder(bytes.NewReader(data))}
	f := &File{}
	if err := d.file(f, "", 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, located(data, err))
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: there is more after the end of the session", ErrFile)
	}
	if err := f.check("", map[string]bool{}, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return f, nil
}

// decoder reads a file message by message, so that an error can say where it is, and what is no message ends the reading
// at once.
type decoder struct{ dec *json.Decoder }

func (d *decoder) file(f *File, at string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%schildren nest deeper than %d", at, maxDepth)
	}
	err := d.open('{')
	for err == nil && d.dec.More() {
		var t json.Token
		if t, err = d.dec.Token(); err == nil {
			err = d.field(f, at, t.(string), depth) // a key is a string
		}
	}
	return d.end(at, err)
}

func (d *decoder) field(f *File, at, key string, depth int) error {
	switch key {
	case "info":
		return d.value(at+key, &f.Info)
	case "todos":
		return d.value(at+key, &f.Todos)
	case "damaged":
		return d.value(at+key, &f.Damaged)
	case "outputs":
		return d.value(at+key, &f.Outputs)
	case "messages":
		f.Messages = []sdk.MessageWithParts{}
		return d.list(at+key, func(at string) error {
			f.Messages = append(f.Messages, sdk.MessageWithParts{})
			return d.value(at, &f.Messages[len(f.Messages)-1])
		})
	case "children":
		f.Children = nil
		return d.list(at+key, func(at string) error {
			f.Children = append(f.Children, &File{})
			return d.file(f.Children[len(f.Children)-1], at+".", depth+1)
		})
	}
	return d.value(at+key, &skipped{}) // of a newer version
}

// list calls f with the place of each element of an array; null is an empty one.
func (d *decoder) list(at string, f func(at string) error) error {
	err := d.open('[')
	if errors.Is(err, errNull) {
		return nil
	}
	for i := 0; err == nil && d.dec.More(); i++ {
		if err = f(fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return d.end(at, err)
}

var errNull = errors.New("is null")

func (d *decoder) open(delim json.Delim) error {
	t, err := d.dec.Token()
	if err == nil && t == nil {
		return errNull
	}
	if err == nil && t != delim {
		err = fmt.Errorf("%.40q is not what stands here, which is %q", fmt.Sprint(t), delim.String())
	}
	return err
}

// end reads the end of an array or object, unless there was an error, which gets its place.
func (d *decoder) end(at string, err error) error {
	if err == nil {
		_, err = d.dec.Token()
	}
	var p *placed
	if err == nil || errors.As(err, &p) {
		return err
	}
	if errors.Is(err, errNull) {
		err = errors.New("info is missing: pass a file that tenon session export or opencode export wrote")
	}
	return &placed{at, err}
}

func (d *decoder) value(at string, v any) error {
	if err := d.dec.Decode(v); err != nil {
		return &placed{at + ": ", err}
	}
	return nil
}

// placed is an error with its place in the file.
type placed struct {
	at  string
	err error
}

func (p *placed) Error() string { return p.at + p.err.Error() }

func (p *placed) Unwrap() error { return p.err }

// skipped is a value that is not looked at.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// located adds the line to an error of the syntax.
func located(data []byte, err error) error {
	var syntax *json.SyntaxError
	truncated := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if !truncated && !errors.As(err, &syntax) {
		return err
	}
	line := 1 + bytes.Count(bytes.TrimSpace(data), []byte("\n"))
	if whole := json.Unmarshal(data, &skipped{}); errors.As(whole, &syntax) && syntax.Offset < int64(len(data)) { // says where
		truncated, line = false, 1+bytes.Count(data[:syntax.Offset], []byte("\n"))
	}
	if truncated {
		return fmt.Errorf("line %d: the JSON ends here, in the middle: %w", line, err)
	}
	return fmt.Errorf("line %d: %w", line, err)
}
