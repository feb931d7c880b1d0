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

// lookup returns the JSON at the path; nil if there is none.
func lookup(p *plan, v reflect.Value, path []string, work *reread) (json.RawMessage, error) {
	found, path := find(found{plan: p, value: v}, path)
	raw, err := found.json()
	if err != nil {
		return nil, err
	}
	return rawLookup(raw, path, work)
}

// found is a value inside a Go value, or JSON inside it.
type found struct {
	plan   *plan
	value  reflect.Value   // addressable
	inside json.RawMessage // the unknown fields that its owner keeps for it
	raw    json.RawMessage // if plan is nil; nil for nothing
}

func (f found) json() (json.RawMessage, error) {
	if f.plan == nil {
		return f.raw, nil
	}
	return f.plan.append(nil, f.value, scope{inside: f.inside})
}

// find walks along the path as far as there are Go values, and returns the rest of the path.
func find(at found, path []string) (found, []string) {
	for len(path) > 0 && at.plan != nil && at.inside == nil {
		next, ok := at.member(path[0])
		if !ok {
			break
		}
		at, path = next, path[1:]
	}
	return at, path
}

// member returns a member of a Go value. It returns false if that must be looked up in its JSON.
func (f found) member(name string) (found, bool) {
	p, v := f.plan, f.value
	switch p.shape {
	case shapePointer, shapeUnion:
		if v.Kind() == reflect.Interface && !v.IsNil() {
			v = v.Elem()
		}
		if v.IsNil() {
			return found{}, true
		}
		return found{plan: planOf(v.Type().Elem()), value: v.Elem()}.member(name)
	case shapeSlice:
		if i, err := arrayIndex(name, v.Len()); err == nil && i < v.Len() {
			return found{plan: p.elem, value: v.Index(i)}, true
		}
		return found{}, true
	case shapeMap:
		if elem := v.MapIndex(reflect.ValueOf(name).Convert(p.typ.Key())); elem.IsValid() {
			return found{plan: p.elem, value: addressable(elem)}, true
		}
		return found{}, true
	case shapeAny:
		elem, ok, typed := anyMember(v.Interface(), name)
		if ok {
			return found{plan: p, value: slotOf(elem)}, true
		}
		return found{}, typed
	case shapeStruct:
		return p.at(v).fieldOf(v, name), true
	}
	return found{}, false
}

func (p *plan) fieldOf(v reflect.Value, name string) found {
	extra := p.extraOf(v)
	i, known := p.byName[name]
	if !known && p.want != "" && name == p.tag {
		return found{raw: json.RawMessage(p.quoted)}
	}
	if !known {
		return found{raw: extra[name]}
	}
	f := &p.fields[i]
	field := v.FieldByIndex(f.index)
	switch {
	case f.absent(field):
		return found{}
	case f.nilObject && field.Len() == 0:
		return found{raw: []byte("{}")}
	}
	return found{plan: f.plan, value: field, inside: extra[name]}
}

// slotOf returns a variable with the value v.
func slotOf(v any) reflect.Value { return reflect.ValueOf(&v).Elem() }

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
