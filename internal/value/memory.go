package value

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// This file compares and copies Go values by address, with functions that are compiled once per type: every hook call copies a value and compares it
// afterwards. An address always points to a live value of the type for which the functions were compiled. The offsets of fields come from reflect.

// memory holds the compiled functions of a type.
type memory struct {
	// same reports whether two values are equal. It may report false for equal values: then Diff compares them in detail.
	same func(a, b unsafe.Pointer) bool
	// detach copies everything that a copy by assignment shares with its original. Nil if they share nothing that can change.
	detach func(p unsafe.Pointer)
}

// memoryOf compiles the functions of the type of p. Those of its parts are set before the first call.
func memoryOf(p *plan) memory {
	t := p.typ
	switch t {
	case rawType:
		return memory{sameRaw, func(p unsafe.Pointer) { *(*json.RawMessage)(p) = bytes.Clone(*(*json.RawMessage)(p)) }}
	case anyType:
		return memory{
			func(a, b unsafe.Pointer) bool { return sameAny(*(*any)(a), *(*any)(b)) },
			func(p unsafe.Pointer) { *(*any)(p) = Clone(*(*any)(p)) },
		}
	case reflect.TypeFor[[]string]():
		return memory{
			func(a, b unsafe.Pointer) bool { return slices.Equal(*(*[]string)(a), *(*[]string)(b)) && sameNil(a, b) },
			func(p unsafe.Pointer) { *(*[]string)(p) = slices.Clone(*(*[]string)(p)) },
		}
	}
	if p.shape == shapeUnion {
		return unionOf(t).memory
	}
	if t.Kind() == reflect.Map && t.Key() == stringType {
		return p.namedMapMemory()
	}
	return p.memoryByKind()
}

// namedMapMemory is for maps with strings as keys.
func (p *plan) namedMapMemory() memory {
	switch p.typ.Elem() {
	case anyType:
		return memory{
			func(a, b unsafe.Pointer) bool { return sameObject(*(*map[string]any)(a), *(*map[string]any)(b)) },
			func(p unsafe.Pointer) { *(*map[string]any)(p) = CloneObject(*(*map[string]any)(p)) },
		}
	case rawType:
		return memory{
			func(a, b unsafe.Pointer) bool {
				return maps.EqualFunc(*(*Extra)(a), *(*Extra)(b), equalRaw) && sameNil(a, b)
			},
			func(p unsafe.Pointer) { *(*Extra)(p) = cloneExtra(*(*Extra)(p)) },
		}
	case stringType:
		return mapMemory[string]()
	case reflect.TypeFor[bool]():
		return mapMemory[bool]()
	}
	return p.memoryByKind()
}

func (p *plan) memoryByKind() memory {
	switch p.typ.Kind() {
	case reflect.Bool:
		return scalarMemory[bool]()
	case reflect.Int64:
		return scalarMemory[int64]()
	case reflect.Int:
		return scalarMemory[int]()
	case reflect.Float64:
		return scalarMemory[float64]()
	case reflect.String:
		return scalarMemory[string]()
	case reflect.Struct:
		return p.structMemory()
	case reflect.Pointer:
		return p.pointerMemory()
	case reflect.Slice:
		return p.sliceMemory()
	case reflect.Map:
		return memory{sameHeader, p.reflected(p.detachMap)}
	}
	return memory{same: func(a, b unsafe.Pointer) bool { return false }}
}

// sameHeader is for maps and interface values that are not compared: equal if both are nil.
func sameHeader(a, b unsafe.Pointer) bool {
	return *(*unsafe.Pointer)(a) == nil && *(*unsafe.Pointer)(b) == nil
}

func scalarMemory[T comparable]() memory {
	return memory{same: func(a, b unsafe.Pointer) bool { return *(*T)(a) == *(*T)(b) }}
}

func mapMemory[T comparable]() memory {
	return memory{
		func(a, b unsafe.Pointer) bool {
			return maps.Equal(*(*map[string]T)(a), *(*map[string]T)(b)) && sameNil(a, b)
		},
		func(p unsafe.Pointer) { *(*map[string]T)(p) = maps.Clone(*(*map[string]T)(p)) },
	}
}

// sameNil reports whether two slices, maps or pointers are both nil or both not nil.
func sameNil(a, b unsafe.Pointer) bool {
	return (*(*unsafe.Pointer)(a) == nil) == (*(*unsafe.Pointer)(b) == nil)
}

func equalRaw(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

func sameRaw(a, b unsafe.Pointer) bool {
	return bytes.Equal(*(*json.RawMessage)(a), *(*json.RawMessage)(b)) && sameNil(a, b)
}

// memberMemory is a field of a struct.
type memberMemory struct {
	offset uintptr
	plan   *plan // nil for an unexported field, which is only copied by assignment
}

func (p *plan) structMemory() memory {
	all := p.members
	var inner []memberMemory
	for _, member := range all {
		if member.plan != nil && !member.plan.shallow {
			inner = append(inner, member)
		}
	}
	m := memory{same: func(a, b unsafe.Pointer) bool {
		for i := range all {
			f := &all[i]
			if f.plan == nil || !f.plan.memory.same(unsafe.Add(a, f.offset), unsafe.Add(b, f.offset)) {
				return false
			}
		}
		return true
	}}
	m.detach = func(p unsafe.Pointer) {
		for i := range inner {
			f := &inner[i]
			at := unsafe.Add(p, f.offset)
			// Except in structs, the first word of a type that is not shallow is nil if the value is nil.
			if f.plan.typ.Kind() == reflect.Struct || *(*unsafe.Pointer)(at) != nil {
				f.plan.memory.detach(at)
			}
		}
	}
	return m
}

// address returns the address of an addressable value.
func address(v reflect.Value) unsafe.Pointer { return unsafe.Pointer(v.UnsafeAddr()) }

// same reports whether a field of two structs at these addresses is equal. It may report false for equal fields, and always does for required ones,
// which are then compared in detail.
func (f *planField) same(a, b unsafe.Pointer) bool {
	if f.plan.isHead() || f.plan.elem != nil && f.plan.elem.isHead() {
		return false
	}
	return f.plan.memory.same(unsafe.Add(a, f.offset), unsafe.Add(b, f.offset))
}

func (p *plan) pointerMemory() memory {
	elem := p.elem
	return memory{
		same: func(a, b unsafe.Pointer) bool {
			pa, pb := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
			return pa == pb || pa != nil && pb != nil && elem.memory.same(pa, pb)
		},
		detach: func(p unsafe.Pointer) {
			if old := *(*unsafe.Pointer)(p); old != nil {
				*(*unsafe.Pointer)(p) = elem.copyOf(old)
			}
		},
	}
}

// copyOf returns the address of a deep copy of the value at src.
func (p *plan) copyOf(src unsafe.Pointer) unsafe.Pointer {
	switch p.typ.Kind() { // usual types of optional fields, without reflection
	case reflect.Float64:
		c := *(*float64)(src)
		return unsafe.Pointer(&c)
	case reflect.Int:
		c := *(*int)(src)
		return unsafe.Pointer(&c)
	case reflect.Bool:
		c := *(*bool)(src)
		return unsafe.Pointer(&c)
	}
	dst := reflect.New(p.typ)
	dst.Elem().Set(reflect.NewAt(p.typ, src).Elem())
	at := dst.UnsafePointer()
	if !p.shallow {
		p.memory.detach(at)
	}
	return at
}

// sliceWords is the memory layout of a slice.
type sliceWords struct {
	data     unsafe.Pointer
	len, cap int
}

func (p *plan) sliceMemory() memory {
	elem, size := p.elem, p.typ.Elem().Size()
	return memory{
		same: func(a, b unsafe.Pointer) bool {
			sa, sb := (*sliceWords)(a), (*sliceWords)(b)
			if sa.len != sb.len || !sameNil(a, b) {
				return false
			}
			if sa.data == sb.data {
				return true
			}
			for i := range uintptr(sa.len) {
				if !elem.memory.same(unsafe.Add(sa.data, i*size), unsafe.Add(sb.data, i*size)) {
					return false
				}
			}
			return true
		},
		detach: func(at unsafe.Pointer) {
			src := reflect.NewAt(p.typ, at).Elem()
			if src.IsNil() {
				return
			}
			dst := reflect.MakeSlice(p.typ, src.Len(), src.Len())
			reflect.Copy(dst, src)
			src.Set(dst)
			if elem.shallow {
				return
			}
			s := (*sliceWords)(at)
			for i := range uintptr(s.len) {
				elem.memory.detach(unsafe.Add(s.data, i*size))
			}
		},
	}
}

// reflected makes a detach function of one that works by reflection.
func (p *plan) reflected(detach func(reflect.Value)) func(unsafe.Pointer) {
	return func(at unsafe.Pointer) { detach(reflect.NewAt(p.typ, at).Elem()) }
}

// samePointee compares the values of two pointers of any type.
func samePointee(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	if va.Type() != vb.Type() || va.Kind() != reflect.Pointer {
		return false
	}
	pa, pb := va.UnsafePointer(), vb.UnsafePointer()
	return pa == pb || pa != nil && pb != nil && planOf(va.Type()).elem.memory.same(pa, pb)
}

// clonePointer returns a pointer to a deep copy of the value of v, a pointer.
func clonePointer(v any) any {
	src := reflect.ValueOf(v)
	if src.IsNil() {
		return v
	}
	elem := planOf(src.Type()).elem
	return reflect.NewAt(elem.typ, elem.copyOf(src.UnsafePointer())).Interface()
}

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
