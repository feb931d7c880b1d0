package value

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Clone returns a deep copy of v: a pointer to a type of the contract, a container of them, or JSON in the form of encoding/json, which is
// copied without reflection. Strings are shared, and so are values of other kinds: an interface value in a field, or a foreign struct
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
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && !ours(t) {
		return v
	}
	src := reflect.ValueOf(v)
	if src.Kind() == reflect.Pointer {
		return planOf(src.Type()).clonePointer(src).Interface()
	}
	c := addressable(src)
	planOf(c.Type()).detach(c)
	return c.Interface()
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

// scalar reports whether v is a JSON value that cannot be changed in place.
func scalar(v any) bool {
	switch v.(type) {
	case nil, string, bool, float64, json.Number, int, int64:
		return true
	}
	return false
}

// clonePointer returns a pointer to a deep copy of the value of v, a pointer.
func (p *plan) clonePointer(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	c := reflect.New(p.elem.typ)
	c.Elem().Set(v.Elem())
	p.elem.detach(c.Elem())
	return c
}

// detach copies what v, a copy by assignment, shares with its original.
func (p *plan) detach(v reflect.Value) {
	if p.shallow || v.Kind() != reflect.Struct && v.IsNil() {
		return
	}
	switch {
	case v.Kind() == reflect.Struct:
		for i := range p.parts {
			if part := &p.parts[i]; !part.plan.shallow {
				part.plan.detach(v.Field(part.index))
			}
		}
	case p.shape == shapePointer:
		v.Set(p.clonePointer(v))
	case p.shape == shapeUnion:
		v.Set(planOf(v.Elem().Type()).clonePointer(v.Elem()))
	case p.shape == shapeAny:
		*at[any](v) = Clone(*at[any](v))
	case p.shape == shapeRaw:
		v.SetBytes(bytes.Clone(v.Bytes()))
	case v.Kind() == reflect.Slice:
		c := reflect.MakeSlice(p.typ, v.Len(), v.Len())
		reflect.Copy(c, v)
		v.Set(c)
		for i := 0; !p.elem.shallow && i < v.Len(); i++ {
			p.elem.detach(v.Index(i))
		}
	case p.object:
		*at[map[string]any](v) = CloneObject(*at[map[string]any](v))
	case p.texts:
		*at[map[string]string](v) = maps.Clone(*at[map[string]string](v))
	case v.Kind() == reflect.Map:
		c := reflect.MakeMapWithSize(p.typ, v.Len())
		for iter := v.MapRange(); iter.Next(); {
			elem := addressable(iter.Value())
			p.elem.detach(elem)
			c.SetMapIndex(iter.Key(), elem)
		}
		v.Set(c)
	}
}
