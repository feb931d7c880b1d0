package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// ErrWire is wrapped by every error about JSON that does not have the shape its type demands.
var ErrWire = errors.New("malformed wire data")

// Extra holds the fields of an object that this version of the sdk does not know, by name. They are
// written back unchanged when the object is encoded. Nil means none.
type Extra map[string]json.RawMessage

// decodeWire decodes the object in data into v, a pointer to a plain struct, and returns the fields
// that v has no place for. Of a nested plain struct the unknown fields are returned under its name.
func decodeWire(data []byte, v any) (Extra, error) {
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrWire, typeName(v), err)
	}
	return unknownFields(data, fieldsOf(reflect.TypeOf(v).Elem())), nil
}

// decodeTagged is decodeWire for the member of a union; tag names the field that tells the member.
func decodeTagged(tag string, data []byte, v any) (Extra, error) {
	extra, err := decodeWire(data, v)
	delete(extra, tag)
	if len(extra) == 0 {
		extra = nil
	}
	return extra, err
}

func unknownFields(data []byte, known fields) Extra {
	var extra Extra
	eachField(data, func(key, value []byte) bool {
		nested, ok := known[string(key)]
		name := string(key)
		if !ok && bytes.IndexByte(key, '\\') >= 0 {
			name = unquote(key)
			nested, ok = known[name]
		}
		if ok && nested == nil {
			return true
		}
		if ok {
			inner := unknownFields(value, nested)
			if len(inner) == 0 {
				return true
			}
			value, _ = marshal(inner) // raw JSON that was valid before
		}
		if extra == nil {
			extra = Extra{}
		}
		extra[name] = bytes.Clone(value)
		return true
	})
	return extra
}

// encodeWire encodes the plain struct v as an object, led by the type tag when typ is not empty and
// followed by the extra fields in the order of their names. HTML characters are not escaped.
func encodeWire(typ string, v any, extra Extra) ([]byte, error) {
	body, err := marshal(v)
	if err != nil {
		return nil, err
	}
	if typ != "" {
		tagged := append(make([]byte, 0, len(body)+len(typ)+12), `{"type":`...)
		tagged = append(tagged, quote(typ)...)
		if len(body) > len("{}") {
			tagged = append(tagged, ',')
		}
		body = append(tagged, body[1:]...)
	}
	if len(extra) == 0 {
		return body, nil
	}
	return mergeExtra(body, extra, fieldsOf(reflect.TypeOf(v))), nil
}

// mergeExtra adds the extra fields to the object in body. What belongs to a known field that is not in
// body is dropped: the field was removed on purpose.
func mergeExtra(body []byte, extra Extra, known fields) []byte {
	out := []byte{'{'}
	field := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, key...)
		out = append(out, ':')
		out = append(out, value...)
	}
	eachField(body, func(key, value []byte) bool {
		name := string(key)
		if nested := known[name]; nested != nil && extra[name] != nil && value[0] == '{' {
			inner := Extra{}
			if json.Unmarshal(extra[name], &inner) == nil {
				value = mergeExtra(value, inner, nested)
			}
		}
		field(slices.Concat([]byte{'"'}, key, []byte{'"'}), value)
		return true
	})
	names := make([]string, 0, len(extra))
	for name := range extra {
		if _, ok := known[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		field(quote(name), extra[name])
	}
	return append(out, '}')
}

// marshal is json.Marshal without HTML escaping: what a model wrote goes out as it was written.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
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
	eachField(data, func(key, value []byte) bool {
		if string(key) != name {
			return true
		}
		if json.Unmarshal(value, &out) != nil {
			out = ""
		}
		return true // the last one wins, as in json.Unmarshal
	})
	return out
}

// eachField calls f with the raw name (between its quotes) and the raw value of each top-level field
// of the object in data, which must be valid JSON; it stops when f returns false.
func eachField(data []byte, f func(key, value []byte) bool) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return
	}
	i = skipSpace(data, i+1)
	for i < len(data) && data[i] == '"' {
		end := skipValue(data, i)
		key := data[i+1 : end-1]
		i = skipSpace(data, end)
		i = skipSpace(data, i+1) // the colon
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
			i++
			for i < len(data) && data[i] != '"' {
				if data[i] == '\\' {
					i++
				}
				i++
			}
			i++
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

// fields holds the JSON names a struct type knows. The value is not nil for a nested plain struct.
type fields map[string]fields

// fieldCache maps a struct type to its fields. An entry is added on first use and never changes.
var fieldCache sync.Map

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

func fieldsOf(t reflect.Type) fields {
	if known, ok := fieldCache.Load(t); ok {
		return known.(fields)
	}
	known := fields{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		known[name] = nil
		if inner.Kind() == reflect.Struct && !reflect.PointerTo(inner).Implements(unmarshalerType) {
			known[name] = fieldsOf(inner)
		}
	}
	fieldCache.Store(t, known)
	return known
}

func typeName(v any) string {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
