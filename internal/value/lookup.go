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
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return nil, fmt.Errorf("%w: look up: want a pointer, have %T", ErrWire, v)
	}
	out := make([]json.RawMessage, len(pointers))
	var rest []string
	var of []int // their indices in out
	for i, pointer := range pointers {
		path, err := splitPointer(pointer)
		ok := false
		if err == nil {
			out[i], ok, err = planOf(target.Type().Elem()).lookup(target.Elem(), path, nil)
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

// lookup walks through structs, slices and pointers, and encodes nothing else: a conversation is large. inside are the unknown fields that the
// owner of v keeps for it. ok is false if the path leads through anything else.
func (p *plan) lookup(v reflect.Value, path []string, inside json.RawMessage) (raw json.RawMessage, ok bool, err error) {
	if len(path) == 0 {
		raw, err = p.append(nil, v, scope{inside: inside})
		return raw, true, err
	}
	if inside != nil {
		return nil, false, nil
	}
	switch p.shape {
	case shapePointer, shapeUnion:
		if v.Kind() == reflect.Interface && !v.IsNil() {
			v = v.Elem()
		}
		if v.IsNil() {
			return nil, true, nil
		}
		return planOf(v.Type().Elem()).lookup(v.Elem(), path, nil)
	case shapeSlice:
		i, err := arrayIndex(path[0], v.Len())
		if err != nil || i == v.Len() {
			return nil, true, nil
		}
		return p.elem.lookup(v.Index(i), path[1:], nil)
	case shapeStruct:
		p = p.at(v)
		i, known := p.byName[path[0]]
		if !known {
			return nil, false, nil
		}
		f, field := &p.fields[i], v.FieldByIndex(p.fields[i].index)
		switch {
		case f.absent(field):
			return nil, true, nil
		case f.nilObject && field.Len() == 0:
			return nil, false, nil
		}
		return f.plan.lookup(field, path[1:], p.extraOf(v)[f.name])
	}
	return nil, false, nil
}

// eachAt calls f with the index of each pointer at which the JSON has a value, and the value. It reads the JSON once.
func eachAt(raw []byte, pointers []string, f func(i int, found []byte)) error {
	root := &wanted{}
	for i, pointer := range pointers {
		path, err := splitPointer(pointer)
		if err != nil {
			return fmt.Errorf("%w: look up %q: %w", ErrWire, pointer, err)
		}
		root.add(path, i)
	}
	root.walk(raw, f)
	return nil
}

// wanted is a tree of pointers.
type wanted struct {
	here    []int // indices of the pointers that end here
	members map[string]*wanted
}

func (w *wanted) add(path []string, i int) {
	for _, name := range path {
		if w.members == nil {
			w.members = map[string]*wanted{}
		}
		if w.members[name] == nil {
			w.members[name] = &wanted{}
		}
		w = w.members[name]
	}
	w.here = append(w.here, i)
}

func (w *wanted) walk(raw []byte, f func(i int, found []byte)) {
	for _, i := range w.here {
		f(i, raw)
	}
	member := func(name string, value []byte) {
		if inner := w.members[name]; inner != nil {
			inner.walk(value, f)
		}
	}
	switch {
	case len(w.members) == 0:
	case jsontext.IsObject(raw):
		jsontext.EachField(raw, func(key, value []byte) bool { member(jsontext.Name(key), value); return true })
	case len(raw) > 0 && raw[0] == '[':
		n := 0
		jsontext.EachElement(raw, func(value []byte) { member(strconv.Itoa(n), value); n++ })
	}
}
