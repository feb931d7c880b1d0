package value

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Unmarshal decodes data into v, a pointer to a struct that has a field Extra for the fields that it does not declare. A member of a
// union may lack its tag, but not have another one. Errors wrap ErrWire.
func Unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v).Elem()
	p := planOf(target.Type())
	extra, err := p.decode(data, target)
	*p.extraAt(target) = extra
	return err
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
	if raw := jsontext.Field(data, p.tag); raw != nil && !isString(raw, p.want) {
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
	err := json.Unmarshal(data, p.twinOf(target))
	var extra Extra
	if err == nil {
		if extra = unknownFields(data, p, target); !foldsInto(extra, p) {
			return extra, nil
		}
	}
	// encoding/json decodes "Text" into the field "text". Here it is an unknown field.
	if json.Valid(data) {
		if clean, folded := withoutFolded(data, p); folded {
			target.SetZero()
			err = json.Unmarshal(clean, p.twinOf(target))
			extra = unknownFields(data, p, target)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrWire, p.typ.Name(), err)
	}
	return extra, nil
}

// Marshal encodes v, a pointer to a struct that has a field Extra: an object, led by the tag of a member of a union and followed by the
// extra fields in the order of their names. HTML characters are not escaped.
func Marshal(v any) ([]byte, error) {
	target := reflect.ValueOf(v).Elem()
	p := planOf(target.Type())
	return p.encode(p.twinOf(target), *p.extraAt(target))
}

// encode encodes v, a struct with the fields of the plan or a pointer to one.
func (p *plan) encode(v any, extra Extra) ([]byte, error) {
	fields := reflect.Indirect(reflect.ValueOf(v))
	if size := p.longText(fields); size > 0 && len(extra) == 0 {
		return p.appendLong(make([]byte, 0, size), fields)
	}
	// The tag goes in front of what the encoder writes, so that a long text is not copied once more.
	var body []byte
	if p.want != "" {
		body = []byte(`{"` + p.tag + `":"` + p.want + `"`)
	}
	at := len(body)
	body, err := jsontext.Append(body, v)
	if err != nil {
		return nil, err
	}
	switch {
	case p.want == "":
	case string(body[at:]) == "{}":
		body = append(body[:at], '}')
	default:
		body[at] = ','
	}
	if len(extra) == 0 {
		return body, nil
	}
	return mergeExtra(body, extra, p), nil
}

// twinOf returns a pointer to v as a type with the same fields and no methods.
func (p *plan) twinOf(v reflect.Value) any {
	if p.twin == nil {
		return v.Addr().Interface()
	}
	return reflect.NewAt(p.twin, v.Addr().UnsafePointer()).Interface()
}

// isString reports whether raw is the JSON of a string.
func isString(raw []byte, want string) bool {
	if len(raw) == len(want)+2 && string(raw[1:len(raw)-1]) == want {
		return raw[0] == '"'
	}
	var s string
	return json.Unmarshal(raw, &s) == nil && s == want
}
