package sdk

import (
	"fmt"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
)

// Object is a JSON object of any shape: tool arguments, metadata, options.
//
// Decoding keeps numbers exact: a number is a float64 if that holds it without loss, else a json.Number. Other values are decoded as by
// encoding/json.
type Object map[string]any

// UnmarshalJSON decodes data, an object or null.
func (o *Object) UnmarshalJSON(data []byte) error {
	m, err := jsontext.DecodeObject(data)
	if err != nil {
		return fmt.Errorf("%w: object: %w", ErrWire, err)
	}
	*o = m
	return nil
}

// Clone returns a deep copy.
func (o Object) Clone() Object { return value.CloneObject(o) }
