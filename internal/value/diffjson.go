package value

import (
	"bytes"
	"reflect"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Comparison of JSON of any shape, in an Object.

// any compares two JSON values. Values of other types than encoding/json decodes to are encoded first.
func (d *differ) any(a, b any) {
	if sameAny(a, b) {
		return
	}
	if d.depth++; d.depth > maxDepth {
		d.fail(errDepth)
		return
	}
	defer func() { d.depth-- }()
	switch {
	case d.places == MaxPointerSegments:
		d.whole(a, b)
	case !d.inside(a, b):
		d.encoded(a, b)
	}
}

// inside compares the members of two objects or of two lists. It returns false for other values, and if only one of them is nil.
func (d *differ) inside(a, b any) bool {
	ma, objectA := anyObject(a)
	mb, objectB := anyObject(b)
	if objectA && objectB && (ma == nil) == (mb == nil) {
		d.objects(ma, mb)
		return true
	}
	la, listA := a.([]any)
	lb, listB := b.([]any)
	if !listA || !listB || (la == nil) != (lb == nil) {
		return false
	}
	d.slices(planOf(listType), reflect.ValueOf(la), reflect.ValueOf(lb))
	return true
}

func (d *differ) objects(a, b map[string]any) {
	diffMembers(d, a, b, d.any, d.setAny)
}

// encoded compares two values by their JSON.
func (d *differ) encoded(a, b any) {
	nb, err := plainJSON(b)
	if err != nil {
		d.fail(err)
		return
	}
	na, err := plainJSON(a)
	if err != nil || !d.inside(na, nb) && !sameScalar(na, nb) {
		d.setAny(nb)
	}
}

// whole compares two values by their JSON, without changes inside them.
func (d *differ) whole(a, b any) {
	raw, err := jsontext.Marshal(b)
	if old, oldErr := jsontext.Marshal(a); err != nil || oldErr != nil || !bytes.Equal(old, raw) {
		d.put(raw, err)
	}
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
