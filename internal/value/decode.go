package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Unmarshal decodes data into v, a pointer to a struct. A field Extra receives the fields that the struct does not declare. A member of a union
// may lack its tag, but must not have a different one. The State of the contract is decoded by the status in the data. Names must be exact:
// encoding/json would decode "Text" into the field "text". Otherwise the result is that of encoding/json. Errors wrap ErrWire.
func Unmarshal(data []byte, v any) error {
	if target := reflect.ValueOf(v).Elem(); planOf(target.Type()).unions != nil {
		target.SetZero() // a missing member of a union is an error
	}
	return decodeExact(data, v)
}

// UnmarshalStruct decodes data into v, a pointer, and returns the fields that the struct does not declare. It does not call UnmarshalJSON of v. If v
// does not point to a struct, it is json.Unmarshal.
func UnmarshalStruct(data []byte, v any) (Extra, error) {
	target := reflect.ValueOf(v).Elem()
	if target.Kind() != reflect.Struct {
		return nil, json.Unmarshal(data, v)
	}
	p := planOf(target.Type())
	d := decoder{Scanner: jsontext.NewScanner(data)}
	unknown, ok := d.fields(p, target)
	return unknown, d.result(ok, p)
}

// DecodeMember decodes a member of the union M. Errors wrap ErrWire.
func DecodeMember[M any](data []byte) (M, error) {
	var m M
	u := unionOf(reflect.TypeFor[M]())
	d := decoder{Scanner: jsontext.NewScanner(data)}
	member, ok := d.member(u)
	if err := d.result(ok, planOf(u.typ)); err != nil {
		return m, err
	}
	return member.(M), nil
}

// DecodeMembers decodes an array of members of the union M. Errors wrap ErrWire.
func DecodeMembers[M any](data []byte) ([]M, error) {
	list := []M{}
	err := decodeExact(data, &list)
	return list, err
}

// decodeExact decodes data into v, a pointer, and keeps unknown fields where the type can. Errors wrap ErrWire.
func decodeExact(data []byte, v any) error {
	return decode(decoder{Scanner: jsontext.NewScanner(data)}, v)
}

// Decode decodes data into v, a pointer. Unknown fields of types that do not keep them are dropped. Otherwise it is Unmarshal for any type. It is
// much faster than encoding/json, which reads the data once to check it, once to decode it, and both again for every nested value with an
// UnmarshalJSON. Errors wrap ErrWire.
func Decode(data []byte, v any) error {
	return decode(decoder{Scanner: jsontext.NewScanner(data), standard: true}, v)
}

func decode(d decoder, v any) error {
	target := reflect.ValueOf(v).Elem()
	p := planOf(target.Type())
	_, ok := d.value(p, target)
	return d.result(ok, p)
}

// DecodeCall decodes the call of a hook, {"input": …, "value": …}, into pointers to zero values of the point's types. value is nil if the
// point has no value. Errors wrap ErrWire.
func DecodeCall(data []byte, input, value any) error {
	d := decoder{Scanner: jsontext.NewScanner(data), standard: true}
	fields := map[string]any{"input": input, "value": value}
	ok := d.Each('{', '}', func() bool {
		name, ok := d.Name()
		if !ok {
			return false
		}
		target := fields[string(name)]
		if target == nil {
			_, ok := d.Raw()
			return ok
		}
		delete(fields, string(name))
		v := reflect.ValueOf(target).Elem()
		_, ok = d.value(planOf(v.Type()), v)
		return ok || d.within(string(name))
	})
	if ok && (fields["input"] != nil || fields["value"] != nil) {
		ok = d.fail(errors.New("want an input, and the value of the point"))
	}
	return d.result(ok, planOf(reflect.TypeOf(input).Elem()))
}

// decoder decodes JSON into Go values, which must be addressable. Its methods report whether they succeeded.
type decoder struct {
	jsontext.Scanner
	standard bool   // unknown fields are dropped
	err      error  // why a method failed; nil if the text is not JSON
	at       string // the place of the error, as a JSON pointer
}

// result returns the error of a decoded text. ok reports whether all methods succeeded.
func (d *decoder) result(ok bool, p *plan) error {
	if ok && d.AtEnd() {
		return nil
	}
	if d.err == nil {
		d.err = d.SyntaxError()
	}
	if d.at != "" {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](d.err); ok {
			wrong.Field = strings.ReplaceAll(d.at[1:], "/", ".") // as encoding/json names it
		}
		d.err = fmt.Errorf("at %q: %w", d.at, d.err)
	}
	switch name := p.typ.Name(); {
	case p.union != nil:
		d.err = fmt.Errorf("%s: %w", p.union, d.err)
	case name != "" && name[0] < 'a': // an exported name; others mean nothing outside their package
		d.err = fmt.Errorf("%s: %w", name, d.err)
	}
	return fmt.Errorf("%w: %w", ErrWire, d.err)
}

func (d *decoder) fail(err error) bool {
	d.err = err
	return false
}

// within adds a name or an index to the place of an error.
func (d *decoder) within(name string) bool {
	d.at = "/" + name + d.at
	return false
}

// value decodes a value into v. It returns the unknown fields inside it that its owner has to keep (extra.go).
func (d *decoder) value(p *plan, v reflect.Value) (unknown Extra, ok bool) {
	switch {
	case p.shape == shapeScalar && !p.decodes:
		return nil, d.scalar(v)
	case p.shape == shapeRaw:
		raw, ok := d.Raw()
		v.SetBytes(bytes.Clone(raw))
		return nil, ok
	case p.union != nil:
		member, ok := d.member(p.union)
		if ok {
			p.union.set(v, member)
		}
		return nil, ok
	case p.states != nil:
		return nil, d.state(p, v)
	case p.keeps:
		return nil, d.keeping(p, v)
	case p.shape == shapeAny || p.object:
		return nil, d.any(p, v)
	case p.decodes && !p.nilList && p.unions == nil:
		return d.own(p, v)
	}
	switch p.shape {
	case shapeStruct:
		if unknown, ok = d.fields(p, v); p.decodes {
			return nil, ok // the owner keeps no unknown fields
		}
		return unknown, ok
	case shapePointer:
		return d.pointer(p, v)
	case shapeSlice:
		return d.slice(p, v)
	case shapeMap:
		return nil, d.mapOf(p, v)
	}
	return nil, d.other(v)
}

// other leaves a value to encoding/json.
func (d *decoder) other(v reflect.Value) bool {
	raw, ok := d.Raw()
	if !ok {
		return false
	}
	d.err = json.Unmarshal(raw, v.Addr().Interface())
	return d.err == nil
}

// fields decodes an object into the struct v and returns the fields that it does not declare.
func (d *decoder) fields(p *plan, v reflect.Value) (unknown Extra, ok bool) {
	if d.Peek() != '{' {
		raw, ok := d.Raw()
		if ok && !jsontext.IsNull(raw) {
			return nil, d.fail(fmt.Errorf("want an object, have %.40s", raw))
		}
		return nil, ok
	}
	next := 0
	ok = d.Each('{', '}', func() bool {
		i, name, ok := d.field(p, next)
		if !ok {
			return false
		}
		if i < 0 {
			unknown, ok = d.unknownField(p, name, unknown)
			return ok
		}
		next = i + 1
		f := &p.fields[i]
		inner, ok := d.value(f.plan, v.FieldByIndex(f.index))
		unknown = keepInside(unknown, f.name, inner)
		return ok || d.within(f.name)
	})
	return unknown, ok && d.complete(p, v)
}

// field reads the name of a field and the colon. It returns the index of the field, or -1 and the name if the plan has none. Fields usually
// come in order, and empty ones are omitted; next is the index of the first field that may follow.
func (d *decoder) field(p *plan, next int) (i int, name []byte, ok bool) {
	d.Peek()
	for i := next; i < min(next+4, len(p.fields)); i++ {
		if d.Literal(p.fields[i].key) {
			return i, nil, true
		}
	}
	name, escapes, ok := d.Quoted()
	if !ok || !d.Next(':') {
		return 0, nil, false
	}
	if escapes > 0 {
		name = []byte(jsontext.Name(name))
	}
	if i, known := p.byName[string(name)]; known {
		return i, nil, true
	}
	return -1, name, true
}

// unknownField adds the value of an undeclared field to the unknown fields of an object.
func (d *decoder) unknownField(p *plan, key []byte, unknown Extra) (Extra, bool) {
	raw, ok := d.Raw()
	if !ok {
		return unknown, false
	}
	if p.want != "" && string(key) == p.tag {
		ok = string(raw) == p.quoted || jsontext.StringValue(raw) == p.want
		return unknown, ok || d.fail(fmt.Errorf("%s %.40s where %q is expected", p.tag, raw, p.want))
	}
	if d.standard {
		return unknown, true
	}
	if unknown == nil {
		unknown = Extra{}
	}
	unknown[jsontext.Name(key)] = bytes.Clone(raw)
	return unknown, true
}
