package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
)

// DecodeObject decodes an object or null, with numbers as DecodeAny returns them.
func DecodeObject(data []byte) (o map[string]any, err error) {
	v, err := DecodeAny(data)
	if o, ok := v.(map[string]any); ok || v == nil {
		return o, err
	}
	return nil, json.Unmarshal(data, &o)
}

// DecodeAny decodes any JSON. A number is a float64 if that holds it without loss, else a json.Number.
func DecodeAny(data []byte) (any, error) {
	d := NewScanner(data)
	if v, ok := d.Any(); ok && d.AtEnd() {
		return v, nil
	}
	return nil, d.SyntaxError()
}

// DecodeExact decodes JSON into v, a pointer. Numbers keep their text.
func DecodeExact(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

// Size returns the bytes of all strings, names and numbers (as text) in a decoded value, plus the number of its parts.
func Size(v any) int {
	sum := 1
	switch v := v.(type) {
	case string:
		sum += len(v)
	case json.Number:
		sum += len(v)
	case []any:
		for _, part := range v {
			sum += Size(part)
		}
	case map[string]any:
		for name, part := range v {
			sum += len(name) + Size(part)
		}
	}
	return sum
}

// DecodeStrict decodes JSON into v, a pointer. Unknown fields and data after the value are errors; the other fields are decoded.
func DecodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if _, after := dec.Token(); err == nil && !errors.Is(after, io.EOF) {
		err = errors.New("unexpected data after the JSON value")
	}
	return err
}

// Canonical returns the JSON of v with sorted names, without white space and with its numbers as they are written: values with equal JSON
// have equal texts.
func Canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := DecodeExact(data, &tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// Object decodes an object.
func (d *Scanner) Object() (map[string]any, bool) {
	m := map[string]any{}
	return m, d.Entries(func(key string) (ok bool) {
		m[key], ok = d.Any()
		return ok
	})
}

// Any decodes a value of an Object.
func (d *Scanner) Any() (any, bool) {
	switch d.Peek() {
	case '"':
		return d.Text()
	case '{':
		return d.Object()
	case '[':
		list := []any{}
		ok := d.Each('[', ']', func() bool {
			e, ok := d.Any()
			list = append(list, e)
			return ok
		})
		return list, ok
	case 't':
		return true, d.Literal("true")
	case 'f':
		return false, d.Literal("false")
	case 'n':
		return nil, d.Literal("null")
	}
	number, ok := d.Number()
	// Integers above 2^53 and long decimals would change; they stay text. Minus zero is another float than zero.
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err == nil && n != 0 && -1<<53 < n && n < 1<<53 {
		return float64(n), true
	}
	if err == nil && n == 0 || err != nil && len(number) <= 15 {
		if f, err := strconv.ParseFloat(string(number), 64); err == nil {
			return f, ok
		}
	}
	return json.Number(number), ok
}

// Entries decodes an object with any names; f decodes each value.
func (d *Scanner) Entries(f func(key string) bool) bool {
	return d.Each('{', '}', func() bool {
		key, ok := d.Text()
		return ok && d.Next(':') && f(key)
	})
}

// Repeated returns a name that an object in data, at any depth, has more than once. data is JSON that encoding/json accepts.
func Repeated(data []byte) (name string, found bool) {
	d := Scanner{data: data, nested: maxDepth}
	distinct := d.distinct(&name)
	return name, !distinct
}

// distinct skips a value and reports whether all names in each of its objects differ. last is the last name it read.
func (d *Scanner) distinct(last *string) bool {
	switch d.Peek() {
	case '{':
		names := map[string]bool{}
		return d.Each('{', '}', func() bool {
			key, _, ok := d.Quoted()
			*last = Name(key)
			if !ok || !d.Next(':') || names[*last] {
				return false
			}
			names[*last] = true
			return d.distinct(last)
		})
	case '[':
		return d.Each('[', ']', func() bool { return d.distinct(last) })
	}
	_, ok := d.Raw()
	return ok
}

// Rounded reports whether all numbers in a decoded value are floats, as those that encoding/json decodes.
func Rounded(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return false
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !Rounded(e) })
	case map[string]any:
		for _, e := range v {
			if !Rounded(e) {
				return false
			}
		}
	}
	return true
}

// Deeper reports whether objects and arrays in raw are nested deeper than limit. It looks at the first value, up to invalid JSON.
func Deeper(raw []byte, limit int) bool {
	d := Scanner{data: raw, nested: limit}
	d.Raw()
	return d.nested < 0
}
