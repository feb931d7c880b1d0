package value

import (
	"fmt"
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// decodeState decodes data into v, a state, by the status in the data. Errors wrap ErrWire.
func (p *plan) decodeState(data []byte, v reflect.Value) error {
	v.SetZero()
	status := jsontext.StringField(data, "status")
	if p = p.states[status]; p == nil {
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
