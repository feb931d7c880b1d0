package value

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Clone returns a deep copy of v: a pointer to a type of the contract, a container of them, or JSON in the form of encoding/json, which is
// copied without reflection. Strings are shared, and so are values that are neither: an interface value in a field, or a foreign struct
// inside an Object.
func Clone(v any) any {
	if scalar(v) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		return CloneObject(v)
	case []any:
		c := slices.Clone(v)
		for i, e := range c {
			c[i] = Clone(e)
		}
		return c
	}
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		if t.Elem().Kind() == reflect.Struct && !ours(t.Elem()) {
			return v
		}
		return clonePointer(v)
	}
	if t.Kind() == reflect.Struct && !ours(t) {
		return v
	}
	p := planOf(t)
	if p.shallow {
		return v
	}
	dst := reflect.New(t)
	dst.Elem().Set(reflect.ValueOf(v))
	p.memory.detach(dst.UnsafePointer())
	return dst.Elem().Interface()
}

// CloneObject returns a deep copy of the object.
func CloneObject(o map[string]any) map[string]any {
	c := maps.Clone(o)
	for k, v := range o {
		if !scalar(v) {
			c[k] = Clone(v)
		}
	}
	return c
}

// scalar reports whether v is JSON that is not changed in place.
func scalar(v any) bool {
	switch v.(type) {
	case nil, string, bool, float64, json.Number, int, int64:
		return true
	}
	return false
}

func cloneExtra(e Extra) Extra {
	c := maps.Clone(e)
	for k, raw := range e {
		c[k] = bytes.Clone(raw)
	}
	return c
}

func (p *plan) detachMap(v reflect.Value) {
	if v.IsNil() {
		return
	}
	dst := reflect.MakeMapWithSize(p.typ, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		elem := reflect.New(p.elem.typ)
		elem.Elem().SetIterValue(iter)
		if !p.elem.shallow {
			p.elem.memory.detach(elem.UnsafePointer())
		}
		dst.SetMapIndex(iter.Key(), elem.Elem())
	}
	v.Set(dst)
}
