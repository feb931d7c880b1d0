package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Object is a JSON object whose shape belongs to somebody else: tool arguments, metadata, options.
//
// Decoding keeps numbers exact: a number is a float64 when that holds it without loss, else a
// json.Number. Other values are as encoding/json makes them.
type Object map[string]any

// UnmarshalJSON decodes data, an object or null.
func (o *Object) UnmarshalJSON(data []byte) error {
	if m, ok := ordinaryObject(data); ok {
		*o = m
		return nil
	}
	return o.decodeSlow(data)
}

func (o *Object) decodeSlow(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return fmt.Errorf("%w: object: %w", ErrWire, err)
	}
	for k, v := range m {
		m[k] = exactNumbers(v)
	}
	*o = m
	return nil
}

// Clone returns a deep copy.
func (o Object) Clone() Object {
	if o == nil {
		return nil
	}
	c := make(Object, len(o))
	for k, v := range o {
		c[k] = cloneAny(v)
	}
	return c
}

func exactNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = exactNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = exactNumbers(e)
		}
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return v
		}
		// Integers above 2^53 and long decimals would come back changed; they stay text.
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			if int64(f) == i && i < 1<<53 && i > -(1<<53) {
				return f
			}
			return v
		}
		if len(v) <= 15 {
			return f
		}
		return v
	}
	return v
}
