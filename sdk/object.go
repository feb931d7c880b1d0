package sdk

import "github.com/tenonhq/tenon/internal/value"

// Object is a JSON object whose shape belongs to somebody else: tool arguments, metadata, options.
//
// Decoding keeps numbers exact: a number is a float64 when that holds it without loss, else a
// json.Number. Other values are as encoding/json makes them.
type Object map[string]any

// UnmarshalJSON decodes data, an object or null.
func (o *Object) UnmarshalJSON(data []byte) error {
	m, err := value.DecodeObject(data)
	if err == nil {
		*o = m
	}
	return err
}

// Clone returns a deep copy.
func (o Object) Clone() Object { return value.CloneObject(o) }
