package value

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Decode decodes data into v, a pointer, as json.Unmarshal does. It is much faster for types of the contract in the form in which they are
// encoded.
func Decode(data []byte, v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() == reflect.Pointer && !target.IsNil() && target.Elem().IsZero() {
		d := ordinary{Scanner: jsontext.NewScanner(data), loose: true}
		if d.value(planOf(target.Type()).elem, target.UnsafePointer()) && d.AtEnd() {
			return nil
		}
		target.Elem().SetZero()
	}
	return json.Unmarshal(data, v)
}

// DecodeCall decodes the call of a hook, {"input": …, "value": …}, into pointers to zero values of the point's types. value is nil if the
// point has none. Errors wrap ErrWire.
func DecodeCall(data []byte, input, value any) error {
	var call struct {
		Input json.RawMessage `json:"input"`
		Value json.RawMessage `json:"value"`
	}
	if err := Decode(data, &call); err != nil {
		return fmt.Errorf("%w: call of a hook: %w", ErrWire, err)
	}
	if err := Decode(call.Input, input); err != nil {
		return fmt.Errorf("%w: input: %w", ErrWire, err)
	}
	if value == nil {
		return nil
	}
	if err := Decode(call.Value, value); err != nil {
		return fmt.Errorf("%w: value: %w", ErrWire, err)
	}
	return nil
}
