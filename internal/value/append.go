package value

import (
	"bytes"
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

// escapes returns how many bytes the usual escapes add to the JSON of a text.
func escapes(s string) int {
	return strings.Count(s, "\n") + strings.Count(s, `"`) + strings.Count(s, "\\") + strings.Count(s, "\t")
}

// appendKeeping appends the JSON of the struct v with its unknown fields, or of a state the fields that belong to its status.
func (p *plan) appendKeeping(out []byte, v reflect.Value) ([]byte, error) {
	if p = p.at(v); p.states != nil {
		return nil, fmt.Errorf("tool state: unknown status %q", v.Field(0))
	}
	out = slices.Grow(out, usualSize)
	body, err := p.appendStruct(out, v)
	if extra := p.extraOf(v); err == nil && len(extra) > 0 {
		body = append(out, mergeExtra(body[len(out):], extra, p)...)
	}
	return body, err
}

// appendStruct appends the JSON of the fields of v, as encoding/json writes them, behind the tag of a member of a union.
func (p *plan) appendStruct(out []byte, v reflect.Value) (_ []byte, err error) {
	out = append(out, '{')
	start := len(out)
	if p.want != "" {
		out = append(out, `"`+p.tag+`":"`+p.want+`"`...)
	}
	for i := range p.fields {
		f := &p.fields[i]
		field := v.FieldByIndex(f.index)
		if f.absent(field) {
			continue
		}
		if len(out) > start {
			out = append(out, ',')
		}
		out = append(out, f.key...)
		if f.nilObject && field.Len() == 0 {
			out = append(out, "{}"...)
		} else if out, err = f.plan.append(out, field); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// AppendJSON appends the JSON of v to out, as json.Marshal writes it without HTML escapes. Long texts are written into out directly:
// encoding/json would hold up to four copies of them. After an error, out is undefined.
func AppendJSON(out []byte, v any) ([]byte, error) {
	if v == nil {
		return append(out, "null"...), nil
	}
	return planOf(reflect.TypeOf(v)).append(out, reflect.ValueOf(v))
}

// append appends the JSON of v as encoding/json writes it.
func (p *plan) append(out []byte, v reflect.Value) ([]byte, error) {
	switch {
	case p.typ == rawType && v.Len() > 0:
		room := v.Len() + min(v.Len(), minLong) // also for the fields behind it: to grow by them would be another copy
		buf := bytes.NewBuffer(slices.Grow(out, room))
		err := json.Compact(buf, v.Bytes())
		return buf.Bytes(), err
	case p.kind == reflect.Interface && !v.IsNil():
		return planOf(v.Elem().Type()).append(out, v.Elem())
	case p.keeps || p.states != nil:
		return p.appendKeeping(out, withAddress(v))
	case p.encodes:
	case p.kind == reflect.String && p.typ != numberType: // encoding/json writes the text of a json.Number
		text := v.String()
		if len(text) >= minLong {
			out = slices.Grow(out, len(text)+escapes(text)+minLong)
		}
		return jsontext.AppendString(out, text), nil
	case p.kind == reflect.Bool:
		return strconv.AppendBool(out, v.Bool()), nil
	case v.CanInt():
		return strconv.AppendInt(out, v.Int(), 10), nil
	case p.kind == reflect.Struct:
		return p.appendStruct(out, v)
	case p.kind == reflect.Pointer && !v.IsNil():
		return p.elem.append(out, v.Elem())
	case p.kind == reflect.Slice && !v.IsNil() && p.elem.kind != reflect.Uint8:
		return p.appendList(out, v)
	}
	if v.CanAddr() {
		v = v.Addr() // its methods may want a pointer
	}
	return jsontext.Append(out, v.Interface())
}

func (p *plan) appendList(out []byte, v reflect.Value) (_ []byte, err error) {
	out = append(out, '[')
	for i := range v.Len() {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = p.elem.append(out, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// withAddress returns v, or a copy of it that has an address.
func withAddress(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}
