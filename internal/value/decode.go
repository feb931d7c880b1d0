package value

import (
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// This file decodes ordinary JSON in one pass. Reading a conversation decodes thousands of parts and
// messages, and encoding/json goes over the data of each several times: to check it, to decode it, and
// both again for every value inside that decodes itself.
//
// If decodeOrdinary succeeds, the value and the Extra are exactly those of the slow path (decodeSlow). It refuses anything
// unusual without a reason: malformed JSON, values of the wrong type, duplicate fields, names in other capitals or with escapes, unknown
// fields in a nested struct. Then the slow path starts over and decides. encoding/json stays the reference; this is only a fast path.

// ordinary decodes JSON into Go values. Its methods report whether the JSON was ordinary. After a method reported false, the value must
// not be used.
type ordinary struct {
	jsontext.Scanner
	loose bool // unknown fields of nested structs are dropped, as by encoding/json
}

// decodeOrdinary decodes the object in data into target, a struct with the plan p, and returns the fields
// it does not declare. If ok is false, target is unchanged.
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
