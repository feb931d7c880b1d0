package value

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Lookup returns the JSON at a JSON pointer of v, itself a pointer, as v encodes it; nil if v has no such member.
func Lookup(v any, pointer string) (json.RawMessage, error) {
	found, err := LookupAll(v, []string{pointer})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// LookupAll is Lookup of several pointers. Unknown fields are parsed again for each pointer into them. Beyond maxReread bytes the error wraps
// ErrBounds.
func LookupAll(v any, pointers []string) ([]json.RawMessage, error) {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return nil, fmt.Errorf("%w: look up: want a pointer, have %T", ErrWire, v)
	}
	p := planOf(target.Type().Elem())
	out := make([]json.RawMessage, len(pointers))
	var work reread
	for i, pointer := range pointers {
		path, err := splitPointer(pointer)
		if err == nil {
			out[i], err = lookup(p, target.Elem(), path, &work)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: look up %q: %w", ErrWire, pointer, err)
		}
	}
	return out, nil
}

// lookup walks Go values and then their JSON.
func lookup(p *plan, v reflect.Value, path []string, work *reread) (json.RawMessage, error) {
	for len(path) > 0 {
		switch p.shape {
		case shapePointer, shapeUnion:
			if v.IsNil() || p.shape == shapeUnion && v.Elem().IsNil() {
				return nil, nil
			}
			if p.shape == shapeUnion {
				v = v.Elem()
			}
			p, v = planOf(v.Type().Elem()), v.Elem()
			continue
		case shapeSlice:
			i, err := arrayIndex(path[0], v.Len())
			if err != nil || i == v.Len() {
				return nil, nil
			}
			p, v, path = p.elem, v.Index(i), path[1:]
			continue
		case shapeMap:
			elem := v.MapIndex(reflect.ValueOf(path[0]).Convert(p.typ.Key()))
			if !elem.IsValid() {
				return nil, nil
			}
			slot := reflect.New(p.elem.typ).Elem()
			slot.Set(elem)
			p, v, path = p.elem, slot, path[1:]
			continue
		case shapeAny:
			elem, found, typed := anyMember(v.Interface(), path[0])
			if !typed {
				break
			}
			if !found {
				return nil, nil
			}
			slot := reflect.New(anyType).Elem()
			if elem != nil {
				slot.Set(reflect.ValueOf(elem))
			}
			v, path = slot, path[1:]
			continue
		case shapeStruct:
			own := p.at(v)
			i, known := own.byName[path[0]]
			var unknown json.RawMessage
			if own.extra != nil {
				unknown = own.extraOf(v)[path[0]]
			}
			if !known && own.tag != path[0] {
				return rawLookup(unknown, path[1:], work)
			}
			if !known || unknown != nil {
				break
			}
			f := &own.fields[i]
			field := v.FieldByIndex(f.index)
			if f.absent(field) {
				return nil, nil
			}
			if f.nilObject && field.Len() == 0 {
				break
			}
			p, v, path = f.plan, field, path[1:]
			continue
		}
		break
	}
	raw, err := jsontext.Marshal(v.Addr().Interface())
	if err != nil {
		return nil, err
	}
	return rawLookup(raw, path, work)
}

// rawLookup walks JSON.
func rawLookup(raw []byte, path []string, work *reread) (json.RawMessage, error) {
	for ; len(path) > 0 && raw != nil; path = path[1:] {
		if err := work.spend(len(raw)); err != nil {
			return nil, err
		}
		raw = rawMember(raw, path[0])
	}
	return raw, nil
}

// anyMember returns a member of JSON as encoding/json decodes it; typed is false for other values.
func anyMember(v any, name string) (elem any, found, typed bool) {
	if object, ok := anyObject(v); ok {
		elem, found = object[name]
		return elem, found, true
	}
	switch v := v.(type) {
	case []any:
		if i, err := arrayIndex(name, len(v)); err == nil && i < len(v) {
			return v[i], true, true
		}
		return nil, false, true
	case nil, string, bool, float64, json.Number:
		return nil, false, true
	}
	return nil, false, false
}

func rawMember(raw []byte, name string) (found []byte) {
	if raw[0] != '[' {
		return jsontext.Field(raw, name)
	}
	i := 0
	jsontext.EachElement(raw, func(value []byte) {
		if strconv.Itoa(i) == name {
			found = value
		}
		i++
	})
	return found
}
