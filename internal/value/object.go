package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// DecodeObject decodes an object or null. A number is a float64 if that holds it without loss, else a json.Number. Errors wrap
// ErrWire.
func DecodeObject(data []byte) (map[string]any, error) {
	if o, ok := ordinaryObject(data); ok {
		return o, nil
	}
	return decodeObjectSlow(data)
}

func decodeObjectSlow(data []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("%w: object: %w", ErrWire, err)
	}
	for k, v := range m {
		m[k] = exactNumbers(v)
	}
	return m, nil
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
