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
		for p.shape == shapePointer || p.shape == shapeUnion {
			if p.shape == shapeUnion && !v.IsNil() {
				v = v.Elem()
			}
			if v.IsNil() {
				return nil, nil
			}
			p, v = planOf(v.Type().Elem()), v.Elem()
		}
		m := p.member(v, path[0])
		if m.absent {
			return rawLookup(m.unknown, path[1:], work)
		}
		if m.plan == nil {
			break
		}
		p, v, path = m.plan, m.value, path[1:]
	}
	raw, err := jsontext.Marshal(v.Addr().Interface())
	if err != nil {
		return nil, err
	}
	return rawLookup(raw, path, work)
}

// member is a member of a Go value. If it has neither a plan nor is absent, it must be looked up in the JSON of the value.
type member struct {
	plan    *plan
	value   reflect.Value   // addressable
	absent  bool            // the type does not declare the member, or the value lacks it
	unknown json.RawMessage // an absent member that is an unknown field
}

func (p *plan) member(v reflect.Value, name string) member {
	switch p.shape {
	case shapeSlice:
		if i, err := arrayIndex(name, v.Len()); err == nil && i < v.Len() {
			return member{plan: p.elem, value: v.Index(i)}
		}
		return member{absent: true}
	case shapeMap:
		if elem := v.MapIndex(reflect.ValueOf(name).Convert(p.typ.Key())); elem.IsValid() {
			return member{plan: p.elem, value: slotOf(p.elem.typ, elem)}
		}
		return member{absent: true}
	case shapeAny:
		elem, found, typed := anyMember(v.Interface(), name)
		if found {
			return member{plan: p, value: slotOf(anyType, reflect.ValueOf(elem))}
		}
		return member{absent: typed}
	case shapeStruct:
		return p.at(v).fieldOf(v, name)
	}
	return member{}
}

func (p *plan) fieldOf(v reflect.Value, name string) member {
	var unknown json.RawMessage
	if p.extra != nil {
		unknown = p.extraOf(v)[name]
	}
	i, known := p.byName[name]
	switch {
	case !known && p.tag != name:
		return member{absent: true, unknown: unknown}
	case !known || unknown != nil:
		return member{}
	}
	f := &p.fields[i]
	field := v.FieldByIndex(f.index)
	switch {
	case f.absent(field):
		return member{absent: true}
	case f.nilObject && field.Len() == 0:
		return member{}
	}
	return member{plan: f.plan, value: field}
}

// slotOf returns an addressable copy of v; nil for an invalid value.
func slotOf(t reflect.Type, v reflect.Value) reflect.Value {
	slot := reflect.New(t).Elem()
	if v.IsValid() {
		slot.Set(v)
	}
	return slot
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
