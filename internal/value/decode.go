package value

import (
	"reflect"
)

// This file decodes ordinary JSON in one pass. Reading a conversation decodes thousands of parts and
// messages, and encoding/json goes over the data of each several times: to check it, to decode it, and
// both again for every value inside that decodes itself.
//
// The contract: what decodeOrdinary takes it decodes to exactly the value, and the Extra, that the slow
// path (decodeSlow, and UnmarshalJSON of Object) gives. Whatever is not plain it refuses without a reason:
// malformed JSON, values of the wrong type, a field named twice or in other capitals, escapes in names,
// unknown fields in a nested struct that has no place for them. Then the slow path starts over, and its
// outcome stands. So there is one definition of how JSON is read, and it is not here.

// maxOrdinaryDepth bounds how deep ordinary JSON is nested; encoding/json goes to 10000.
const maxOrdinaryDepth = 200

// decodeOrdinary decodes the object in data into target, a struct with the plan p, and returns the fields
// it has no place for. When ok is false, target is as it was.
func decodeOrdinary(data []byte, p *plan, target reflect.Value) (extra Extra, ok bool) {
	if !target.IsZero() {
		return nil, false // encoding/json merges
	}
	d := ordinary{data: data}
	if extra, ok = d.fields(p, target.Addr().UnsafePointer()); ok && d.atEnd() {
		return extra, true
	}
	target.SetZero()
	return nil, false
}

// ordinaryObject decodes what Object.UnmarshalJSON does, by the same contract.
func ordinaryObject(data []byte) (o map[string]any, ok bool) {
	d := ordinary{data: data}
	o, ok = d.object()
	return o, ok && d.atEnd()
}

// ordinaryElements calls f with each element of the array in data and reports whether all of data is an
// array and f took everything.
func ordinaryElements(data []byte, f func(raw []byte) bool) bool {
	d := ordinary{data: data}
	return d.each('[', ']', func() bool {
		raw, ok := d.raw()
		return ok && f(raw)
	}) && d.atEnd()
}

// firstString returns what is between the quotes of the first field of that name of the object in data,
// nil when that is no string. It is a guess: the data may not be JSON, or name the field once more.
func firstString(data []byte, name string) (raw []byte) {
	EachField(data, func(key, value []byte) bool {
		if string(key) != name {
			return true
		}
		if len(value) >= 2 && value[0] == '"' {
			raw = value[1 : len(value)-1]
		}
		return false
	})
	return raw
}
