package jsontext

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// EachField calls f with the raw name (between its quotes) and the raw value of each top-level field of the object in data, until f returns
// false. For invalid JSON the calls are undefined, but it returns.
func EachField(data []byte, f func(key, value []byte) bool) {
	d := Scanner{data: data, nested: maxDepth}
	d.Each('{', '}', func() bool {
		key, _, ok := d.Quoted()
		if !ok || !d.Next(':') {
			return false
		}
		value, ok := d.Raw()
		return ok && f(key, value)
	})
}

// EachElement calls f with the raw value of each element of the array in data. For invalid JSON the calls are undefined, but it returns.
func EachElement(data []byte, f func(value []byte)) {
	d := Scanner{data: data, nested: maxDepth}
	d.Each('[', ']', func() bool {
		value, ok := d.Raw()
		if ok {
			f(value)
		}
		return ok
	})
}

// IsObject reports whether data, if it is JSON, is an object.
func IsObject(data []byte) bool {
	d := Scanner{data: data}
	return d.Peek() == '{'
}

// IsNull reports whether data is null.
func IsNull(data []byte) bool { return string(bytes.TrimSpace(data)) == "null" }

// Name returns the name of a field, or another string, of which key is the text between the quotes. Invalid UTF-8 is replaced.
func Name(key []byte) string {
	if bytes.IndexByte(key, '\\') < 0 && utf8.Valid(key) {
		return string(key)
	}
	var s string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &s); err != nil {
		return string(key)
	}
	return s
}

// Field returns the raw value of the top-level field of that name of the object in data, or nil.
func Field(data []byte, name string) []byte {
	var out []byte
	EachField(data, func(key, value []byte) bool {
		if string(key) == name || bytes.IndexByte(key, '\\') >= 0 && Name(key) == name {
			out = value
		}
		return true // the last one wins, as in json.Unmarshal
	})
	return out
}

// StringField returns the string value of the top-level field of that name of the object in data.
func StringField(data []byte, name string) string { return StringValue(Field(data, name)) }

// StringValue returns the string in data; empty for other JSON.
func StringValue(data []byte) (out string) {
	_ = json.Unmarshal(data, &out) // sets nothing if it fails
	return out
}

// First returns the raw value of the first field of that name in the object in data, or nil, and reads no further. It is a guess: data may not be
// JSON, or have the field twice.
func First(data []byte, name string) (found []byte) {
	EachField(data, func(key, value []byte) bool {
		if string(key) == name {
			found = value
		}
		return found == nil
	})
	return found
}

// FirstString returns the text between the quotes of the value that First returns; nil if it is not a string.
func FirstString(data []byte, name string) []byte {
	if value := First(data, name); len(value) > 0 && value[0] == '"' {
		return value[1 : len(value)-1]
	}
	return nil
}

// ReplaceFields sets string fields of the object in data, in its order; empty ones that it does not have are not added. Other fields do not
// change.
func ReplaceFields(data []byte, values map[string]string) []byte {
	out := append(make([]byte, 0, len(data)), "{}"...)
	seen := map[string]bool{}
	EachField(data, func(key, value []byte) bool {
		name := Name(key)
		if s, ok := values[name]; ok {
			value, seen[name] = Quote(s), true
		}
		out = AppendField(out, name, value)
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !seen[name] && values[name] != "" {
			out = AppendField(out, name, Quote(values[name]))
		}
	}
	return out
}

// AppendField appends a field to the object that body ends with, as append does.
func AppendField(body []byte, name string, value []byte) []byte {
	body = body[:len(body)-1]
	if body[len(body)-1] != '{' {
		body = append(body, ',')
	}
	body = append(append(body, Quote(name)...), ':')
	return append(append(body, value...), '}')
}
