package value

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/tenonhq/tenon/internal/jsontext"
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

func appendField(out []byte, field reflect.Value) ([]byte, error) {
	if field.Type() == stringType {
		return jsontext.AppendString(out, field.String()), nil
	}
	if field.Type() == rawType && field.Len() > 0 {
		buf := bytes.NewBuffer(out)
		err := json.Compact(buf, field.Bytes())
		return buf.Bytes(), err
	}
	return jsontext.Append(out, field.Interface())
}
