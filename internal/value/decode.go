package value

import (
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// This file decodes ordinary JSON in one pass. Reading a conversation decodes thousands of parts and messages. encoding/json reads each of them several
// times: to check it, to decode it, and both again for every nested value with an UnmarshalJSON.
//
// If decodeOrdinary succeeds, the value and the Extra are exactly those of the slow path (decodeSlow). It refuses everything unusual: malformed JSON,
// values of the wrong type, duplicate fields, names in other capitals or with escapes, and unknown fields in nested structs. Then the slow path starts
// over. encoding/json stays the reference; this is only a fast path.

// ordinary decodes JSON into Go values. Its methods report whether the JSON is ordinary. If not, the value must not be used.
type ordinary struct {
	jsontext.Scanner
	loose bool // unknown fields of nested structs are dropped, as by encoding/json
}

// decodeOrdinary decodes the object in data into target, a struct with the plan p, and returns the undeclared fields. If ok is false, target is
// unchanged.
func decodeOrdinary(data []byte, p *plan, target reflect.Value) (extra Extra, ok bool) {
	if !target.IsZero() {
		return nil, false // encoding/json merges
	}
	d := ordinary{Scanner: jsontext.NewScanner(data)}
	if extra, ok = d.fields(p, target.Addr().UnsafePointer()); ok && d.AtEnd() {
		return extra, true
	}
	target.SetZero()
	return nil, false
}
