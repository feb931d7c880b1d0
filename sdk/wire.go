package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ErrWire is wrapped by every error about JSON that does not have the shape its type demands.
var ErrWire = errors.New("malformed wire data")

// decodeWire decodes the object in data into v, a pointer to a plain struct, and returns the fields
// that v has no place for. Of a nested plain struct the unknown fields are returned under its name.
func decodeWire(data []byte, v any) (Extra, error) { return decodeTagged("", "", data, v) }

// decodeTagged is decodeWire for the member of a union that the field tag tells: it may be missing, but
// not be another one.
func decodeTagged(tag, want string, data []byte, v any) (Extra, error) {
	target := reflect.ValueOf(v).Elem()
	p := planOf(target.Type())
	if extra, ok := decodeOrdinary(data, p, target, tag, want); ok {
		return extra, nil
	}
	if tag == "" {
		return decodeSlow(data, v)
	}
	return decodeTaggedSlow(tag, want, data, v)
}

func decodeTaggedSlow(tag, want string, data []byte, v any) (Extra, error) {
	if raw := rawField(data, tag); raw != nil && !isString(raw, want) {
		return nil, fmt.Errorf("%w: %s %.40s where %q is wanted", ErrWire, tag, raw, want)
	}
	extra, err := decodeSlow(data, v)
	delete(extra, tag)
	if len(extra) == 0 {
		extra = nil
	}
	return extra, err
}

// decodeSlow is decodeWire for data of any kind.
func decodeSlow(data []byte, v any) (Extra, error) {
	target := reflect.ValueOf(v).Elem()
	p := planOf(target.Type())
	err := json.Unmarshal(data, v)
	var extra Extra
	if err == nil {
		if extra = unknownFields(data, p, target); !extra.foldsInto(p) {
			return extra, nil
		}
	}
	// encoding/json takes "Text" for "text"; here it is a field like any other that is not known.
	if json.Valid(data) {
		if clean, folded := withoutFolded(data, p); folded {
			target.SetZero()
			err = json.Unmarshal(clean, v)
			extra = unknownFields(data, p, target)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrWire, typeName(v), err)
	}
	return extra, nil
}

// encodeWire encodes the plain struct v as an object, led by the type tag when typ is not empty and
// followed by the extra fields in the order of their names. HTML characters are not escaped.
func encodeWire(typ string, v any, extra Extra) ([]byte, error) {
	value := reflect.ValueOf(v)
	p := planOf(value.Type())
	if size := p.longText(value); size > 0 && len(extra) == 0 {
		return p.appendLong(make([]byte, 0, size), typ, value)
	}
	// The type goes in front of what the encoder writes, so that a long text is not copied once more.
	var buf bytes.Buffer
	if typ != "" {
		buf.WriteString(`{"type":`)
		buf.Write(quote(typ))
	}
	at := buf.Len()
	if err := encodeTo(&buf, v); err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	switch {
	case typ == "":
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

// replaceFields sets string fields of the object in data; its other fields stay as they are.
func replaceFields(data []byte, values map[string]string) []byte {
	out := []byte("{}")
	eachField(data, func(key, value []byte) bool {
		name := fieldName(key)
		if s, ok := values[name]; ok {
			value = quote(s)
		}
		out = withField(out, name, value)
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if rawField(out, name) == nil && values[name] != "" {
			out = withField(out, name, quote(values[name]))
		}
	}
	return out
}

// withField appends a field to the object in body.
func withField(body []byte, name string, value []byte) []byte {
	out := append([]byte(nil), body[:len(body)-1]...)
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(append(out, quote(name)...), ':')
	return append(append(out, value...), '}')
}

// marshal is json.Marshal without HTML escaping: what a model wrote goes out as it was written.
func marshal(v any) ([]byte, error) {
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
	b, err := marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return b
}

func unquote(key []byte) string {
	var s string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &s); err != nil {
		return string(key)
	}
	return s
}

// stringField returns the string value of the top-level field name of the object in data.
func stringField(data []byte, name string) string {
	var out string
	if value := rawField(data, name); value == nil || json.Unmarshal(value, &out) != nil {
		return ""
	}
	return out
}

// rawField returns the raw value of the top-level field name of the object in data, or nil.
func rawField(data []byte, name string) []byte {
	var out []byte
	eachField(data, func(key, value []byte) bool {
		if string(key) == name || bytes.IndexByte(key, '\\') >= 0 && unquote(key) == name {
			out = value
		}
		return true // the last one wins, as in json.Unmarshal
	})
	return out
}

// eachElement calls f with the raw value of each element of the array in data; what it does with data
// that is not JSON is not defined, but it ends.
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

// eachField calls f with the raw name (between its quotes) and the raw value of each top-level field
// of the object in data; it stops when f returns false. What it does with data that is not JSON is not
// defined, but it ends.
func eachField(data []byte, f func(key, value []byte) bool) {
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

// skipValue returns the index behind the JSON value that starts at i; data is valid JSON.
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

// skipString returns the index behind the string that starts at i.
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

func typeName(v any) string {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
