package value

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
)

const (
	// usualSize is the capacity that is reserved for the JSON of a struct, in bytes.
	usualSize = 512
	// minLong is the length in bytes from which the memory for a text is reserved before it is written.
	minLong = 64 << 10
)

// Marshal encodes v, a pointer to a struct that has a field Extra: the result is an object with the tag first if v is a member of a union,
// then the fields, and then the extra fields in the order of their names. For the State of the contract, it has only the fields that belong
// to the status. HTML characters are not escaped.
func Marshal(v any) ([]byte, error) {
	target := reflect.ValueOf(v).Elem()
	return planOf(target.Type()).appendStruct(make([]byte, 0, usualSize), target, scope{})
}

// AppendJSON appends the JSON of v to out, as json.Marshal writes it without HTML escapes. Long texts are written into out directly:
// encoding/json would hold up to four copies of them. After an error, out is undefined.
func AppendJSON(out []byte, v any) ([]byte, error) {
	if v == nil {
		return append(out, "null"...), nil
	}
	return planOf(reflect.TypeOf(v)).append(out, reflect.ValueOf(v), scope{})
}

// scope is the part of a value that is written.
type scope struct {
	want   *selection      // nil: all of it
	inside json.RawMessage // the unknown fields that the owner of the value keeps for it
}

func (s scope) all() bool { return s.want == nil || s.want.all }

// append appends the JSON of v as encoding/json writes it, or the part that the scope selects.
func (p *plan) append(out []byte, v reflect.Value, s scope) ([]byte, error) {
	kind := v.Kind()
	switch {
	case (kind == reflect.Pointer || kind == reflect.Interface) && v.IsNil():
		return append(out, "null"...), nil
	case p.shape == shapePointer:
		return p.elem.append(out, v.Elem(), s)
	case kind == reflect.Interface:
		return planOf(v.Elem().Type()).append(out, v.Elem(), s)
	case p.shape == shapeRaw && v.Len() > 0:
		return appendRaw(out, v.Bytes(), s)
	case p.keeps || p.states != nil:
		return p.appendStruct(out, v, s)
	case p.encodes && !p.nilList && (s.all() || p.shape == shapeOpaque):
		return p.appendOwn(out, v, s)
	case p.shape == shapeStruct:
		return p.appendStruct(out, v, s)
	case p.shape == shapeSlice && (!v.IsNil() || p.nilList):
		return p.appendList(out, v, s)
	case s.all():
		return appendPlain(out, v)
	case p.shape == shapeMap && !v.IsNil():
		return p.appendMap(out, v, s)
	}
	return append(out, "null"...), nil // null has no members to select
}

// appendPlain appends a value as it is.
func appendPlain(out []byte, v reflect.Value) ([]byte, error) {
	switch {
	case v.Kind() == reflect.String && v.Type() != numberType:
		text := v.String()
		if len(text) >= minLong {
			out = slices.Grow(out, len(text)+escapes(text)+minLong)
		}
		return jsontext.AppendString(out, text), nil
	case v.Kind() == reflect.Bool:
		return strconv.AppendBool(out, v.Bool()), nil
	case v.CanInt():
		return strconv.AppendInt(out, v.Int(), 10), nil
	}
	return jsontext.Append(out, withMethods(v))
}

// withMethods returns v, or its address: some methods want a pointer.
func withMethods(v reflect.Value) any {
	if v.CanAddr() {
		v = v.Addr()
	}
	return v.Interface()
}

// escapes returns how many bytes the usual escapes add to the JSON of a text.
func escapes(s string) int {
	return strings.Count(s, "\n") + strings.Count(s, `"`) + strings.Count(s, "\\") + strings.Count(s, "\t")
}

// appendOwn appends the JSON of a value that encodes itself. Parts and messages always keep their type or role and their id.
func (p *plan) appendOwn(out []byte, v reflect.Value, s scope) (_ []byte, err error) {
	if !s.all() {
		raw, err := jsontext.Marshal(withMethods(v))
		if err != nil || p.tag == "" {
			return selectRaw(out, raw, s.want), err
		}
		return selectRaw(out, raw, s.want.with(&selection{members: map[string]*selection{p.tag: {all: true}, "id": {all: true}}})), nil
	}
	if out, err = jsontext.Append(out, withMethods(v)); err != nil || s.inside == nil || out[len(out)-1] != '}' {
		return out, err
	}
	return p.appendUnknown(out[:len(out)-1], insideOf(s.inside), s)
}

// appendStruct appends the tag if v is a member of a union, the JSON of the fields of v, and the unknown fields.
func (p *plan) appendStruct(out []byte, v reflect.Value, s scope) (_ []byte, err error) {
	if p = p.at(v); p.states != nil {
		return nil, fmt.Errorf("tool state: unknown status %q", v.Field(0))
	}
	extra := p.extraOf(v)
	if s.inside != nil {
		extra = insideOf(s.inside)
	}
	if out = append(out, '{'); p.want != "" {
		out = append(out, `"`+p.tag+`":`+p.quoted...)
	}
	for i := range p.fields {
		f := &p.fields[i]
		field := v.FieldByIndex(f.index)
		inner := scope{inside: extra[f.name], want: p.selected(f, s)}
		if f.absent(field) || inner.want == nil && !s.all() {
			continue
		}
		out = append(appendComma(out), f.key...)
		if f.nilObject && field.Len() == 0 {
			out = append(out, "{}"...)
		} else if out, err = f.plan.append(out, field, inner); err != nil {
			return nil, err
		}
	}
	return p.appendUnknown(out, extra, s)
}

// selected returns the selection inside a field. So that the result can be decoded, members of unions, their id and a status are always selected.
func (p *plan) selected(f *planField, s scope) *selection {
	switch {
	case s.all():
		return nil
	case p.tag != "" && f.name == "id" || f.name == p.status:
		return &selection{all: true}
	case f.plan.union != nil:
		return cmp.Or(s.want.member(f.name), &selection{})
	}
	return s.want.member(f.name)
}

// appendUnknown appends the extra fields that are not inside known fields, and the closing bracket.
func (p *plan) appendUnknown(out []byte, extra Extra, s scope) (_ []byte, err error) {
	for _, name := range p.unknownOf(extra) {
		inner := scope{}
		if !s.all() {
			if inner.want = s.want.member(name); inner.want == nil {
				continue
			}
		}
		out = append(jsontext.AppendString(appendComma(out), name), ':')
		if raw := extra[name]; len(raw) == 0 {
			out = append(out, "null"...)
		} else if out, err = appendRaw(out, raw, inner); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// appendComma appends a comma unless out ends with an opening bracket.
func appendComma(out []byte) []byte {
	if last := out[len(out)-1]; last == '{' || last == '[' {
		return out
	}
	return append(out, ',')
}

func (p *plan) appendList(out []byte, v reflect.Value, s scope) (_ []byte, err error) {
	inside, keys := insideOf(s.inside), elementKeys{}
	out = append(out, '[')
	for i := range v.Len() {
		inner := scope{}
		if !s.all() {
			inner.want = cmp.Or(s.want.member(strconv.Itoa(i)), &selection{})
		}
		if inside != nil {
			inner.inside = inside[keys.next(p.elem, v.Index(i))]
		}
		if out, err = p.elem.append(appendComma(out), v.Index(i), inner); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// appendMap appends the selected members of a map.
func (p *plan) appendMap(out []byte, v reflect.Value, s scope) (_ []byte, err error) {
	out = append(out, '{')
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range keys {
		inner := s.want.member(key.String())
		if inner == nil {
			continue
		}
		out = append(jsontext.AppendString(appendComma(out), key.String()), ':')
		if out, err = p.elem.append(out, v.MapIndex(key), scope{want: inner}); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// appendRaw appends JSON without spaces.
func appendRaw(out []byte, raw json.RawMessage, s scope) ([]byte, error) {
	if !s.all() {
		compact, err := jsontext.AppendCompact(nil, raw)
		return selectRaw(out, compact, s.want), err
	}
	room := len(raw) + min(len(raw), minLong) // leaves room for the following fields: growing for them would cost another copy
	return jsontext.AppendCompact(slices.Grow(out, room), raw)
}
