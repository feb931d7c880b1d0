package value

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// UnmarshalState decodes data into state, a pointer to the State of the contract, by the status in the data. Errors wrap ErrWire.
func UnmarshalState(data []byte, state any) error {
	v := reflect.ValueOf(state).Elem()
	v.SetZero()
	status := jsontext.StringField(data, "status")
	p := planOf(v.Type()).states[status]
	if p == nil {
		return fmt.Errorf("%w: tool state: unknown status %q", ErrWire, status)
	}
	extra, ok := decodeOrdinary(data, p, v)
	if !ok {
		wire := reflect.New(p.wire).Elem()
		var err error
		if extra, err = planOf(p.wire).decodeFields(data, wire); err != nil {
			return err
		}
		for i := range p.fields {
			v.FieldByIndex(p.fields[i].index).Set(wire.Field(i))
		}
	}
	*p.extraAt(v) = extra
	return nil
}

// AppendState appends the JSON of state, a pointer to the State of the contract, to out: the fields that belong to its status.
func AppendState(out []byte, state any) ([]byte, error) {
	v := reflect.ValueOf(state).Elem()
	p := planOf(v.Type()).at(v)
	if p.wire == nil {
		return nil, fmt.Errorf("tool state: unknown status %q", v.Field(0))
	}
	return p.appendKeeping(slices.Grow(out, p.textSize(v)), v)
}
