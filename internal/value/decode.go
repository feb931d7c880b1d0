package value

import (
	"reflect"
)

// This file decodes ordinary JSON in one pass. Reading a conversation decodes thousands of parts and
// messages, and encoding/json goes over the data of each several times: to check it, to decode it, and
// both again for every value inside that decodes itself.
//
// If decodeOrdinary succeeds, the value and the Extra are exactly those of the slow path (decodeSlow, decodeObjectSlow). It refuses anything
// unusual without a reason: malformed JSON, values of the wrong type, duplicate fields, names in other capitals or with escapes, unknown
// fields in a nested struct. Then the slow path starts over and decides. encoding/json stays the reference; this is only a fast path.

// maxOrdinaryDepth bounds the nesting of ordinary JSON; encoding/json allows 10000.
const maxOrdinaryDepth = 200

// decodeOrdinary decodes the object in data into target, a struct with the plan p, and returns the fields
// it does not declare. If ok is false, target is unchanged.
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

// ordinaryObject is the fast path of DecodeObject.
func ordinaryObject(data []byte) (o map[string]any, ok bool) {
	d := ordinary{data: data}
	o, ok = d.object()
	return o, ok && d.atEnd()
}

// ordinaryElements calls f with each element of the array in data. It reports whether data is an array and f accepted all elements.
func ordinaryElements(data []byte, f func(raw []byte) bool) bool {
	d := ordinary{data: data}
	return d.each('[', ']', func() bool {
		raw, ok := d.raw()
		return ok && f(raw)
	}) && d.atEnd()
}

// firstString returns the text between the quotes of the first field of that name in the object in data; nil if it is not a string. It is a
// guess: data may not be JSON, or have the field twice.
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
