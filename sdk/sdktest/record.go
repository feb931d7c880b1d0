package sdktest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// ErrRecord is wrapped by errors about the text of a recording.
var ErrRecord = errors.New("bad recording")

// maxRecord bounds one line of a recording, in bytes.
const maxRecord = 64 << 20

// Record is a call of a hook and its result. Input and Value were sent to the hook. Answer.Changes are all its changes, even if they are not
// declared.
type Record struct {
	Point  sdk.Point       `json:"point"`
	Hook   string          `json:"hook,omitempty"` // default: the point
	Input  json.RawMessage `json:"input"`
	Value  json.RawMessage `json:"value,omitempty"`
	Answer sdk.Answer      `json:"answer"`
	Error  string          `json:"error,omitempty"` // the error of a hook that failed
}

func newRecord(call *sdk.RemoteCall, answer *sdk.Answer, err error) Record {
	r := Record{Point: call.Point, Input: call.Input, Value: call.Value, Answer: *answer}
	if call.Hook != string(call.Point) {
		r.Hook = call.Hook
	}
	if err != nil {
		r.Error, r.Answer = err.Error(), sdk.Answer{}
	}
	return r
}

// WriteRecord writes a record as a line of JSON.
func WriteRecord(w io.Writer, r Record) error {
	if err := r.check(); err != nil {
		return err
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// ReadRecords reads records from lines of JSON; empty lines are skipped. Errors wrap ErrRecord and name the line.
func ReadRecords(r io.Reader) ([]Record, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRecord)
	var out []Record
	n := 1
	for ; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		record, err := decodeRecord(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, record)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	return out, nil
}

func decodeRecord(line []byte) (Record, error) {
	var r Record
	if err := jsontext.DecodeStrict(line, &r); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return r, r.check()
}

// check returns an error if no hook could be called with the record, which means that the recording is wrong and
// not the plugin.
func (r *Record) check() error {
	info, ok := hookpoint.Of(string(r.Point))
	if !ok {
		return fmt.Errorf("%w: point: unknown hook point %q", ErrRecord, r.Point)
	}
	if err := value.Decode(r.Input, info.NewInput()); err != nil {
		return fmt.Errorf("%w: input of %s: %w", ErrRecord, r.Point, err)
	}
	if info.NewValue == nil {
		if len(r.Value) > 0 {
			return fmt.Errorf("%w: value: point %s has no value", ErrRecord, r.Point)
		}
		return nil
	}
	v := info.NewValue()
	if err := value.Decode(r.Value, v); err != nil {
		return fmt.Errorf("%w: value of %s: %w", ErrRecord, r.Point, err)
	}
	if err := value.Apply(v, r.Answer.Changes); err != nil {
		return fmt.Errorf("%w: answer.changes at %s: %w", ErrRecord, r.Point, err)
	}
	return nil
}
