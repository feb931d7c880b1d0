package value

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// A plain struct has no field Extra. The struct around it keeps the unknown fields of the plain struct, as an object under the name of the
// field that holds it. For a list of plain structs, the names in this object are derived from the elements, so that unknown fields stay
// with their element when the list changes.

// at returns the address of v as that of a T, which has the same memory as the type of v.
func at[T any](v reflect.Value) *T { return (*T)(v.Addr().UnsafePointer()) }

// as converts changes to another type without copying them.
func as[D, C change](changes []C) []D { return *(*[]D)(unsafe.Pointer(&changes)) }

// extraAt returns the address of the extra fields of v. v must be addressable.
func (p *plan) extraAt(v reflect.Value) *Extra { return at[Extra](v.FieldByIndex(p.extra)) }

// extraOf returns the extra fields of v, or nil if its type has no Extra.
func (p *plan) extraOf(v reflect.Value) Extra {
	if p.extra == nil {
		return nil
	}
	if !v.CanAddr() {
		v = addressable(v)
	}
	return *p.extraAt(v)
}

// addressable returns a copy of v that has an address.
func addressable(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// keepInside adds the unknown fields inside a member to those of its owner.
func keepInside(unknown Extra, name string, inner Extra) Extra {
	if len(inner) == 0 {
		return unknown
	}
	if unknown == nil {
		unknown = Extra{}
	}
	unknown[name], _ = jsontext.Marshal(inner) // cannot fail: it is JSON that was decoded before
	return unknown
}

// keepElements returns the unknown fields inside the elements of a list for its owner. inner holds those of each element that has some.
func (p *plan) keepElements(list reflect.Value, inner map[int]Extra) Extra {
	var unknown Extra
	keys := elementKeys{}
	for i := range list.Len() {
		key := keys.next(p.elem, list.Index(i))
		unknown = keepInside(unknown, key, inner[i])
	}
	return unknown
}

// insideOf decodes raw, the unknown fields that an owner keeps for a member. It returns nil if raw is nil.
func insideOf(raw json.RawMessage) (extra Extra) {
	if raw != nil {
		_ = json.Unmarshal(raw, &extra) // a value that is not an object has none
	}
	return extra
}

// elementKeys derives keys of list elements from their JSON; equal elements are numbered.
type elementKeys map[uint64]int

func (k elementKeys) next(p *plan, element reflect.Value) string {
	body, _ := p.append(nil, element, scope{}) // an element without JSON has no unknown fields
	h := fnv.New64a()
	_, _ = h.Write(body) // never fails
	sum := h.Sum64()
	k[sum]++
	return fmt.Sprintf("%016x.%d", sum, k[sum])
}

// unknownOf returns the sorted names of the extra fields that are not inside known fields.
func (p *plan) unknownOf(extra Extra) []string {
	if len(extra) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(extra)), func(name string) bool {
		_, known := p.byName[name]
		return known || p.tag != "" && name == p.tag
	})
}

// loses reports whether a value decoded by the plan loses fields of data.
func (p *plan) loses(data []byte) bool {
	if p.shape != shapeStruct && p.shape != shapePointer && p.shape != shapeSlice {
		return false
	}
	d := decoder{Scanner: jsontext.NewScanner(data)}
	unknown, ok := d.value(p, reflect.New(p.typ).Elem())
	return ok && len(unknown) > 0 // for invalid data, the caller gets the same error
}
