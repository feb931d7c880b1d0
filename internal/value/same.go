package value

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// same reports whether the values at two addresses, both of the type of p, are equal. It may report false for equal values, which Diff then
// compares in detail. Hooks leave most of a value unchanged, so this is compared often: it works with addresses, because reflection takes
// ten times longer.
func (p *plan) same(a, b unsafe.Pointer) bool {
	switch kind := p.typ.Kind(); {
	case kind == reflect.String:
		return *(*string)(a) == *(*string)(b)
	case kind == reflect.Bool:
		return *(*bool)(a) == *(*bool)(b)
	case kind == reflect.Int:
		return *(*int)(a) == *(*int)(b)
	case kind == reflect.Int64:
		return *(*int64)(a) == *(*int64)(b)
	case kind == reflect.Float64:
		return *(*float64)(a) == *(*float64)(b)
	case kind == reflect.Struct && !p.hidden:
		for i := range p.parts {
			if part := &p.parts[i]; !part.plan.same(unsafe.Add(a, part.offset), unsafe.Add(b, part.offset)) {
				return false
			}
		}
		return true
	case kind == reflect.Pointer:
		pa, pb := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		return pa == pb || pa != nil && pb != nil && p.elem.same(pa, pb)
	case kind == reflect.Slice:
		return p.sameSlices(a, b)
	case kind == reflect.Map:
		return p.sameMaps(a, b)
	case p.shape == shapeAny:
		return sameAny(*(*any)(a), *(*any)(b))
	case p.shape == shapeUnion:
		return sameMembers(reflect.NewAt(p.typ, a).Elem(), reflect.NewAt(p.typ, b).Elem())
	}
	return false
}

func (p *plan) sameSlices(a, b unsafe.Pointer) bool {
	sa, sb := *(*[]byte)(a), *(*[]byte)(b) // whatever the type, the length counts elements
	da, db := unsafe.Pointer(unsafe.SliceData(sa)), unsafe.Pointer(unsafe.SliceData(sb))
	switch {
	case len(sa) != len(sb) || (da == nil) != (db == nil):
		return false
	case p.shape == shapeRaw:
		return bytes.Equal(sa, sb)
	}
	size := p.typ.Elem().Size()
	for i := range uintptr(len(sa)) {
		if !p.elem.same(unsafe.Add(da, i*size), unsafe.Add(db, i*size)) {
			return false
		}
	}
	return true
}

// sameMaps compares the usual maps of the contract.
func (p *plan) sameMaps(a, b unsafe.Pointer) bool {
	switch {
	case p.object:
		return sameObject(*(*map[string]any)(a), *(*map[string]any)(b))
	case p.texts:
		ma, mb := *(*map[string]string)(a), *(*map[string]string)(b)
		return (ma == nil) == (mb == nil) && maps.Equal(ma, mb)
	}
	return *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b)
}

// sameMembers compares two members of a union.
func sameMembers(a, b reflect.Value) bool {
	if a.IsNil() || b.IsNil() {
		return a.IsNil() && b.IsNil()
	}
	a, b = a.Elem(), b.Elem()
	if a.Type() != b.Type() || a.IsNil() || b.IsNil() {
		return false
	}
	return planOf(a.Type()).elem.same(a.UnsafePointer(), b.UnsafePointer())
}

// sameAny reports whether two values in the form of encoding/json are equal.
func sameAny(a, b any) bool {
	if sameScalar(a, b) {
		return true
	}
	if list, ok := b.([]any); ok {
		a, ok := a.([]any)
		return ok && slices.EqualFunc(a, list, sameAny) && (a == nil) == (list == nil)
	}
	ma, okA := anyObject(a)
	mb, okB := anyObject(b)
	return okA && okB && reflect.TypeOf(a) == reflect.TypeOf(b) && sameObject(ma, mb)
}

func sameObject(a, b map[string]any) bool {
	return (a == nil) == (b == nil) && maps.EqualFunc(a, b, sameAny)
}

// sameScalar compares values of the usual scalar types. Other types may not be comparable.
func sameScalar(a, b any) bool { return scalar(b) && a == b }
