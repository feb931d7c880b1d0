package value

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Comparison of JSON of any shape, in an Object.

// any compares two JSON values. Values of other types than encoding/json decodes to are encoded first.
func (d *differ) any(a, b any) {
	if sameScalar(a, b) {
		return
	}
	if d.depth++; d.depth > maxDepth {
		d.fail(errDepth)
		return
	}
	defer func() { d.depth-- }()
	if d.places == MaxPointerSegments {
		d.whole(a, b)
		return
	}
	if d.members(a, b) {
		return
	}
	d.encoded(a, b) // they have different types, or one that encoding/json does not decode to
}

// encoded compares two values by their JSON.
func (d *differ) encoded(a, b any) {
	nb, err := plainJSON(b)
	if err != nil {
		d.fail(err)
		return
	}
	na, err := plainJSON(a)
	if err != nil || !d.members(na, nb) && !sameScalar(na, nb) {
		d.setAny(nb)
	}
}

// members compares the members of two objects or of two lists. It reports false for other values, and if only one of them is nil.
func (d *differ) members(a, b any) bool {
	ma, objectA := anyObject(a)
	mb, objectB := anyObject(b)
	if objectA && objectB && (ma == nil) == (mb == nil) {
		d.objects(ma, mb)
		return true
	}
	la, listA := a.([]any)
	lb, listB := b.([]any)
	if listA && listB && (la == nil) == (lb == nil) {
		d.lists(la, lb)
		return true
	}
	return false
}

// whole compares two values by their JSON, without changes inside them.
func (d *differ) whole(a, b any) {
	raw, err := jsontext.Marshal(b)
	if err != nil {
		d.fail(err)
		return
	}
	if old, err := jsontext.Marshal(a); err != nil || !bytes.Equal(old, raw) {
		d.setRaw(raw)
	}
}

// sameScalar compares values of the usual scalar types. Other types may not be comparable.
func sameScalar(a, b any) bool {
	switch b.(type) {
	case nil, string, bool, float64, json.Number, int:
		return a == b
	}
	return false
}

// isObjectType reports whether t is map[string]any, under any name.
func isObjectType(t reflect.Type) bool {
	return t.Kind() == reflect.Map && t.Elem() == anyType && t.Key() == stringType
}

func anyObject(v any) (map[string]any, bool) {
	if object, ok := v.(map[string]any); ok || v == nil {
		return object, ok
	}
	if value := reflect.ValueOf(v); isObjectType(value.Type()) {
		return value.Convert(objectType).Interface().(map[string]any), true
	}
	return nil, false
}

// plainJSON returns v as Object would decode it.
func plainJSON(v any) (any, error) {
	switch n := v.(type) {
	case nil, string, bool, float64:
		return v, nil
	case map[string]any:
		if n != nil {
			return v, nil
		}
	case []any:
		if n != nil {
			return v, nil
		}
	}
	raw, err := jsontext.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsontext.DecodeAny(raw)
}

func (d *differ) objects(a, b map[string]any) {
	diffMembers(d, a, b, d.any, func(v any) { d.setAny(v) })
}

func (d *differ) lists(a, b []any) {
	element := func(d *differ, i int) { d.any(a[i], b[i]) }
	if len(a) != len(b) && !d.equalPrefix(min(len(a), len(b)), element) {
		d.setAny(b)
		return
	}
	d.elements(len(a), len(b), element, func(i int) { d.setAny(b[i]) })
}
