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

// LookupAll is Lookup of several pointers.
func LookupAll(v any, pointers []string) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(pointers))
	var rest []string
	var of []int // their indices in out
	for i, pointer := range pointers {
		at, ok, err := locate(v, pointer)
		if ok && at.plan != nil {
			out[i], err = at.plan.append(nil, at.value, scope{inside: at.inside})
		}
		if err != nil {
			return nil, fmt.Errorf("%w: look up %q: %w", ErrWire, pointer, err)
		}
		if !ok {
			rest, of = append(rest, pointer), append(of, i)
		}
	}
	if len(rest) == 0 {
		return out, nil
	}
	raw, err := Select(v, rest)
	if err != nil {
		return nil, err
	}
	return out, eachAt(raw, rest, func(i int, found []byte) { out[of[i]] = found })
}

// place is a value inside a Go value.
type place struct {
	plan   *plan // nil: the pointer names nothing
	value  reflect.Value
	inside json.RawMessage // the unknown fields that the owner keeps for the value
}

// locate follows a pointer through structs, slices and pointers, and encodes nothing: a conversation is large. ok is false if it leads through
// anything else.
func locate(v any, pointer string) (at place, ok bool, err error) {
	target := reflect.ValueOf(v)
	path, err := splitPointer(pointer)
	if err != nil {
		return place{}, false, err
	}
	at, ok = place{plan: planOf(target.Type().Elem()), value: target.Elem()}, true
	for _, name := range path {
		if at, ok = at.member(name); !ok || at.plan == nil {
			break
		}
	}
	return at, ok, nil
}

func (at place) member(name string) (place, bool) {
	if at.inside != nil {
		return place{}, false
	}
	v := at.value
	switch at.plan.shape {
	case shapePointer, shapeUnion:
		if v.Kind() == reflect.Interface && !v.IsNil() {
			v = v.Elem()
		}
		if v.IsNil() {
			return place{}, true
		}
		return place{plan: planOf(v.Type().Elem()), value: v.Elem()}.member(name)
	case shapeSlice:
		i, err := arrayIndex(name, v.Len())
		if err != nil || i == v.Len() {
			return place{}, true
		}
		return place{plan: at.plan.elem, value: v.Index(i)}, true
	case shapeStruct:
		p := at.plan.at(v)
		i, known := p.byName[name]
		if !known {
			return place{}, false
		}
		f, field := &p.fields[i], v.FieldByIndex(p.fields[i].index)
		switch {
		case f.absent(field):
			return place{}, true
		case f.nilObject && field.Len() == 0: // its JSON is {}
			return place{}, false
		}
		return place{plan: f.plan, value: field, inside: p.extraOf(v)[name]}, true
	}
	return place{}, false
}

// eachAt calls f with the index of each pointer at which the JSON has a value, and the value. It reads the JSON once.
func eachAt(raw []byte, pointers []string, f func(i int, found []byte)) error {
	root, err := selectionOf(pointers)
	if err != nil {
		return err
	}
	root.walk(raw, f)
	return nil
}

func (s *selection) walk(raw []byte, f func(i int, found []byte)) {
	for _, i := range s.here {
		f(i, raw)
	}
	member := func(name string, value []byte) {
		if inner := s.members[name]; inner != nil {
			inner.walk(value, f)
		}
	}
	switch {
	case len(s.members) == 0:
	case jsontext.IsObject(raw):
		jsontext.EachField(raw, func(key, value []byte) bool { member(jsontext.Name(key), value); return true })
	case len(raw) > 0 && raw[0] == '[':
		n := 0
		jsontext.EachElement(raw, func(value []byte) { member(strconv.Itoa(n), value); n++ })
	}
}
