package value

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Unmarshal decodes data into v, a pointer to a struct that has a field Extra for the fields that it does not declare. A member of a
// union may lack its tag, but not have another one. The State of the contract is decoded by the status in the data. Errors wrap ErrWire.
func Unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v).Elem()
	p := planOf(target.Type())
	if p.states != nil {
		return p.decodeState(data, target)
	}
	extra, err := p.decode(data, target)
	*p.extraAt(target) = extra
	return err
}

// UnmarshalPlain decodes the object in data into v, a pointer to a struct without Extra that has fields of union types, which encoding/json cannot
// decode. Errors wrap ErrWire.
func UnmarshalPlain(data []byte, v any) error {
	target := reflect.ValueOf(v).Elem()
	p := planOf(target.Type())
	target.SetZero()
	for i := range p.fields {
		f := &p.fields[i]
		field, raw := target.FieldByIndex(f.index), jsontext.Field(data, f.name)
		switch {
		case f.plan.shape == shapeUnion:
			member, err := unionOf(f.plan.typ).decode(raw)
			if err != nil {
				return err
			}
			field.Set(reflect.ValueOf(member))
		case raw != nil:
			if err := json.Unmarshal(raw, field.Addr().Interface()); err != nil {
				return fmt.Errorf("%w: %s: %w", ErrWire, f.name, err)
			}
		}
	}
	return nil
}

// DecodeStruct decodes the object in data into v, a pointer to a struct, and returns the fields that v does not declare. The unknown fields of
// a nested plain struct are returned under its name. It does not call UnmarshalJSON of v.
func DecodeStruct(data []byte, v any) (Extra, error) {
	target := reflect.ValueOf(v).Elem()
	return planOf(target.Type()).decode(data, target)
}

func (p *plan) decode(data []byte, target reflect.Value) (Extra, error) {
	if extra, ok := decodeOrdinary(data, p, target); ok {
		return extra, nil
	}
	return p.decodeSlow(data, target)
}

func (p *plan) decodeSlow(data []byte, target reflect.Value) (Extra, error) {
	if p.want == "" {
		return p.decodeFields(data, target)
	}
	if raw := jsontext.Field(data, p.tag); raw != nil && jsontext.StringField(data, p.tag) != p.want {
		return nil, fmt.Errorf("%w: %s %.40s where %q is expected", ErrWire, p.tag, raw, p.want)
	}
	extra, err := p.decodeFields(data, target)
	delete(extra, p.tag)
	if len(extra) == 0 {
		extra = nil
	}
	return extra, err
}

// decodeFields is decodeSlow for structs without a tag.
func (p *plan) decodeFields(data []byte, target reflect.Value) (Extra, error) {
	// encoding/json decodes "Text" into the field "text". Here it is an unknown field.
	clean := data
	if json.Valid(data) {
		clean = withoutFolded(data, p)
	}
	if err := json.Unmarshal(clean, p.twinOf(target)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrWire, p.typ.Name(), err)
	}
	return unknownFields(data, p, target), nil
}

// Marshal encodes v, a pointer to a struct that has a field Extra: an object, led by the tag of a member of a union and followed by the
// extra fields in the order of their names. Of the State of the contract it has the fields that belong to the status. HTML characters are not
// escaped.
func Marshal(v any) ([]byte, error) {
	target := reflect.ValueOf(v).Elem()
	return planOf(target.Type()).appendKeeping(nil, target)
}

// twinOf returns a pointer to v as a type with the same fields and no methods.
func (p *plan) twinOf(v reflect.Value) any {
	if p.twin == nil {
		return v.Addr().Interface()
	}
	return reflect.NewAt(p.twin(), v.Addr().UnsafePointer()).Interface()
}
