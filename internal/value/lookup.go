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

// LookupAll is Lookup of several pointers, in one pass.
func LookupAll(v any, pointers []string) ([]json.RawMessage, error) {
	if target := reflect.ValueOf(v); len(pointers) == 1 && target.Kind() == reflect.Pointer && !target.IsNil() {
		if raw, ok, err := planOf(target.Type().Elem()).field(target.Elem(), pointers[0]); ok {
			return []json.RawMessage{raw}, err
		}
	}
	raw, err := Select(v, pointers)
	if err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, len(pointers))
	return out, eachAt(raw, pointers, func(i int, found []byte) { out[i] = found })
}

// field returns the JSON of a field of the struct v; most hooks change one. It returns false for other pointers.
func (p *plan) field(v reflect.Value, pointer string) (raw json.RawMessage, ok bool, err error) {
	if p.shape != shapeStruct || pointer == "" {
		return nil, false, nil
	}
	p = p.at(v)
	i, ok := p.byName[pointer[1:]]
	if !ok {
		return nil, false, nil
	}
	f := &p.fields[i]
	switch value := v.FieldByIndex(f.index); {
	case f.absent(value):
	case f.nilObject && value.Len() == 0:
		raw = []byte("{}")
	default:
		raw, err = f.plan.append(nil, value, scope{inside: p.extraOf(v)[f.name]})
	}
	return raw, true, err
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
