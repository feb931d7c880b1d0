package value

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// Select returns the JSON of v, a pointer, restricted to the declared fields: JSON pointers in which * matches any one member; the empty
// pointer is the whole value.
//
// The structure is kept. Objects hold only the selected members; fields that v does not have are omitted. Arrays on the way to a selected
// member keep their length and indices: an element without a selected member is {}, [] or null, by its type. So that the result can be
// decoded, parts and messages always keep their type or role and their id, a tool state its status, and a message with parts its message.
// If a hook replaces an array of which it selected only some members, the other members are lost.
func Select(v any, fields []string) (json.RawMessage, error) {
	target := reflect.ValueOf(v)
	wanted, err := selectionOf(fields)
	if err != nil {
		return nil, err
	}
	out, err := planOf(target.Type().Elem()).append(nil, target.Elem(), scope{want: wanted})
	if err != nil {
		return nil, fmt.Errorf("%w: select: %w", ErrWire, err)
	}
	return out, nil
}

// selection is a tree of pointers.
type selection struct {
	all     bool  // the whole value here
	here    []int // indices of the pointers that end here, see eachAt
	members map[string]*selection
}

// selectionOf returns the tree of the pointers.
func selectionOf(pointers []string) (*selection, error) {
	root := &selection{}
	for i, pointer := range pointers {
		path, err := splitPointer(pointer)
		if err != nil {
			return nil, fmt.Errorf("%w: select %q: %w", ErrWire, pointer, err)
		}
		at := root
		for _, name := range path {
			if at.members == nil {
				at.members = map[string]*selection{}
			}
			if at.members[name] == nil {
				at.members[name] = &selection{}
			}
			at = at.members[name]
		}
		at.all, at.here = true, append(at.here, i)
	}
	return root, nil
}

// member returns the selection inside the member of that name; nil for none.
func (s *selection) member(name string) *selection {
	return s.members[name].with(s.members["*"])
}

// with returns the union of two selections; nil selects nothing.
func (s *selection) with(o *selection) *selection {
	switch {
	case s == nil || s == o:
		return o
	case o == nil:
		return s
	}
	both := &selection{all: s.all || o.all, members: map[string]*selection{}}
	maps.Copy(both.members, s.members)
	for key, inner := range o.members {
		both.members[key] = both.members[key].with(inner)
	}
	return both
}

// selectRaw appends the selected members of JSON.
func selectRaw(out, raw []byte, want *selection) []byte {
	switch {
	case want.all:
		return append(out, raw...)
	case jsontext.IsObject(raw):
		out = append(out, '{')
		jsontext.EachField(raw, func(key, value []byte) bool {
			name := jsontext.Name(key)
			if inner := want.member(name); inner != nil {
				out = append(jsontext.AppendString(appendComma(out), name), ':')
				out = selectRaw(out, value, inner)
			}
			return true
		})
		return append(out, '}')
	case len(raw) > 0 && raw[0] == '[':
		out = append(out, '[')
		i := 0
		jsontext.EachElement(raw, func(value []byte) {
			out = selectRaw(appendComma(out), value, cmp.Or(want.member(strconv.Itoa(i)), &selection{}))
			i++
		})
		return append(out, ']')
	}
	return append(out, "null"...)
}
