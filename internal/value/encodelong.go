package value

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// minLong is the length in bytes from which a text is written by appendLong. encoding/json would hold up to four copies of it.
const minLong = 64 << 10

// longText returns the approximate size of the JSON of v, a struct with a text or raw JSON of at least minLong bytes, or 0 if it has
// none.
func (p *plan) longText(v reflect.Value) int {
	size, long := 0, false
	for i := range p.fields {
		f := &p.fields[i]
		if f.plan.kind != reflect.String && f.plan.typ != rawType {
			continue
		}
		n := v.FieldByIndex(f.index).Len()
		size, long = size+n, long || n >= minLong
	}
	if !long {
		return 0
	}
	for i := range p.fields {
		if f := &p.fields[i]; f.plan.kind == reflect.String {
			size += escapes(v.FieldByIndex(f.index).String())
		}
	}
	return size + minLong
}

// escapes returns how many bytes the usual escapes add to the JSON of a text.
func escapes(s string) int {
	return strings.Count(s, "\n") + strings.Count(s, `"`) + strings.Count(s, "\\") + strings.Count(s, "\t")
}

// appendLong appends the JSON of the struct v as encode writes it.
func (p *plan) appendLong(out []byte, v reflect.Value) ([]byte, error) {
	out = append(out, '{')
	if p.want != "" {
		out = append(out, `"`+p.tag+`":"`+p.want+`"`...)
	}
	for i := range p.fields {
		f := &p.fields[i]
		field := v.FieldByIndex(f.index)
		if f.absent(field) {
			continue
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		var err error
		if out, err = appendField(append(out, f.key...), field); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// AppendJSON appends the JSON of v to out, as json.Marshal writes it without HTML escapes. Long texts are written into out directly:
// encoding/json would hold up to four copies of them. After an error, out is undefined.
func AppendJSON(out []byte, v any) ([]byte, error) { return appendField(out, reflect.ValueOf(v)) }

// appendField appends the JSON of a value. It follows types that do not encode themselves.
func appendField(out []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(out, "null"...), nil
	}
	itself := v.Type().Implements(marshalerType) || v.Type().Implements(textType)
	switch kind := v.Kind(); {
	case kind == reflect.Interface && !v.IsNil():
		return appendField(out, v.Elem())
	case v.Type() == rawType && v.Len() > 0:
		return appendCompact(out, v.Bytes())
	case kind == reflect.Pointer && !v.IsNil() && (!itself || ours(v.Type().Elem())):
		return appendField(out, v.Elem())
	case itself && ours(v.Type()):
		return appendOurs(out, v)
	case itself:
	case kind == reflect.String:
		return appendString(slices.Grow(out, v.Len()+2), v.String()), nil
	case kind == reflect.Struct:
		return planOf(v.Type()).appendLong(out, v)
	case kind == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8:
		return appendList(out, v)
	}
	buf := bytes.NewBuffer(out)
	err := encodeTo(buf, v.Interface())
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// appendOurs appends the JSON of a value of the contract that encodes itself.
func appendOurs(out []byte, v reflect.Value) ([]byte, error) {
	p := planOf(v.Type())
	if v.Type() == reflect.TypeOf(contract.State) {
		state := reflect.New(v.Type())
		state.Elem().Set(v)
		return AppendState(out, state.Interface())
	}
	if p.keeps && v.FieldByIndex(p.extra).Len() == 0 {
		return p.appendLong(slices.Grow(out, p.longText(v)), v)
	}
	data, err := v.Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return nil, err
	}
	return appendCompact(out, data)
}

// appendCompact appends the JSON in data, without white space.
func appendCompact(out, data []byte) ([]byte, error) {
	buf := bytes.NewBuffer(slices.Grow(out, len(data)))
	err := json.Compact(buf, data)
	return buf.Bytes(), err
}

func appendList(out []byte, v reflect.Value) (_ []byte, err error) {
	out = append(out, '[')
	for i := range v.Len() {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendField(out, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}
