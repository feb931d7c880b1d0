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
	if ordinaryCall(data, input, value) {
		return nil
	}
	reflect.ValueOf(input).Elem().SetZero()
	if value != nil {
		reflect.ValueOf(value).Elem().SetZero()
	}
	var call struct{ Input, Value json.RawMessage }
	if err := json.Unmarshal(data, &call); err != nil {
		return fmt.Errorf("%w: call of a hook: %w", ErrWire, err)
	}
	if err := json.Unmarshal(call.Input, input); err != nil {
		return fmt.Errorf("%w: input: %w", ErrWire, err)
	}
	if value == nil {
		return nil
	}
	if err := json.Unmarshal(call.Value, value); err != nil {
		return fmt.Errorf("%w: value: %w", ErrWire, err)
	}
	return nil
}

// ordinaryCall is DecodeCall for calls as tenon writes them.
func ordinaryCall(data []byte, input, value any) bool {
	d := ordinary{Scanner: jsontext.NewScanner(data), loose: true}
	var seen [2]bool
	return d.Each('{', '}', func() bool {
		name, ok := d.Name()
		if !ok {
			return false
		}
		i, target := 0, input
		switch string(name) {
		case "input":
		case "value":
			i, target = 1, value
		default:
			return false
		}
		if seen[i] || target == nil {
			return false
		}
		seen[i] = true
		v := reflect.ValueOf(target)
		return d.value(planOf(v.Type()).elem, v.UnsafePointer())
	}) && d.AtEnd() && seen[0] && seen[1] == (value != nil)
}
