package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
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
	if raw := rawField(data, p.tag); raw != nil && !isString(raw, p.want) {
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
	var buf bytes.Buffer
	if p.want != "" {
		buf.WriteString(`{"` + p.tag + `":"` + p.want + `"`)
	}
	at := buf.Len()
	if err := encodeTo(&buf, v); err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
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

// isObject reports whether data, if it is JSON, is an object.
func isObject(data []byte) bool {
	i := skipSpace(data, 0)
	return i < len(data) && data[i] == '{'
}

// ReplaceFields sets string fields of the object in data. Other fields do not change.
func ReplaceFields(data []byte, values map[string]string) []byte {
	out := []byte("{}")
	EachField(data, func(key, value []byte) bool {
		name := fieldName(key)
		if s, ok := values[name]; ok {
			value = quote(s)
		}
		out = WithField(out, name, value)
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if rawField(out, name) == nil && values[name] != "" {
			out = WithField(out, name, quote(values[name]))
		}
	}
	return out
}

// WithField appends a field to the object in body.
func WithField(body []byte, name string, value []byte) []byte {
	out := append([]byte(nil), body[:len(body)-1]...)
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(append(out, quote(name)...), ':')
	return append(append(out, value...), '}')
}

// JSON is json.Marshal without HTML escapes: text of models is not changed.
func JSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	if err := encodeTo(&buf, v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// encodeTo writes the JSON of v and a newline.
func encodeTo(buf *bytes.Buffer, v any) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func quote(s string) []byte {
	b, err := JSON(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return b
}

func Unquote(key []byte) string {
	var s string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &s); err != nil {
		return string(key)
	}
	return s
}

// StringField returns the string value of the top-level field name of the object in data.
func StringField(data []byte, name string) string {
	var out string
	if value := rawField(data, name); value == nil || json.Unmarshal(value, &out) != nil {
		return ""
	}
	return out
}

// rawField returns the raw value of the top-level field name of the object in data, or nil.
func rawField(data []byte, name string) []byte {
	var out []byte
	EachField(data, func(key, value []byte) bool {
		if string(key) == name || bytes.IndexByte(key, '\\') >= 0 && Unquote(key) == name {
			out = value
		}
		return true // the last one wins, as in json.Unmarshal
	})
	return out
}

// eachElement calls f with the raw value of each element of the array in data. For invalid JSON the calls are undefined, but it ends.
func eachElement(data []byte, f func(value []byte)) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '[' {
		return
	}
	i = skipSpace(data, i+1)
	for i < len(data) && data[i] != ']' {
		end := skipValue(data, i)
		f(data[i:end])
		i = skipSpace(data, end)
		if i >= len(data) || data[i] != ',' {
			return
		}
		i = skipSpace(data, i+1)
	}
}

// EachField calls f with the raw name (between its quotes) and the raw value of each top-level field of the object in data, until f returns
// false. For invalid JSON the calls are undefined, but it ends.
func EachField(data []byte, f func(key, value []byte) bool) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return
	}
	i = skipSpace(data, i+1)
	for i < len(data) && data[i] == '"' {
		end := skipValue(data, i)
		if end < i+2 {
			return // not JSON after all
		}
		key := data[i+1 : end-1]
		if i = skipSpace(data, end); i >= len(data) || data[i] != ':' {
			return
		}
		i = skipSpace(data, i+1)
		end = skipValue(data, i)
		if !f(key, data[i:end]) {
			return
		}
		i = skipSpace(data, end)
		if i >= len(data) || data[i] != ',' {
			return
		}
		i = skipSpace(data, i+1)
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// skipValue returns the end of the JSON value that starts at i; data is valid JSON.
func skipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			i++
			continue
		default:
			for i < len(data) && !strings.ContainsRune(",:]} \n\r\t", rune(data[i])) {
				i++
			}
		}
		if depth == 0 {
			return min(i, len(data))
		}
	}
	return len(data)
}

// skipString returns the end of the string that starts at i.
func skipString(data []byte, i int) int {
	i++
	for {
		n := bytes.IndexByte(data[min(i, len(data)):], '"')
		if n < 0 {
			return len(data)
		}
		end := i + n
		slashes := end
		for slashes > i && data[slashes-1] == '\\' {
			slashes--
		}
		if (end-slashes)%2 == 0 {
			return end + 1
		}
		i = end + 1
	}
}
