package value

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/jsontext"
)

// end is the last segment of a pointer to the end of an array (RFC 6901, section 4). A change there appends an element. A declared field
// /list/- permits only appending to the list.
const end = "/-"

// Appended turns changes that add elements to a list into changes at its end, if writes permits only appending to it. length returns the
// number of elements that the hook saw. If it saw none, the elements of a new list count as added.
func Appended[C change](changes []C, writes []string, length func(list string) int) []C {
	var lists []string
	for _, w := range writes {
		if list, ok := strings.CutSuffix(w, end); ok {
			lists = append(lists, list)
		}
	}
	if len(lists) == 0 {
		return changes
	}
	var out []Change
	for _, c := range as[Change](changes) {
		out = append(out, appended(c, lists, length)...)
	}
	return as[C](out)
}

// appended is Appended of one change.
func appended(c Change, lists []string, length func(string) int) []Change {
	if c.Remove {
		return []Change{c}
	}
	parent, last := "", ""
	if i := strings.LastIndexByte(c.Pointer, '/'); i >= 0 {
		parent, last = c.Pointer[:i], c.Pointer[i+1:]
	}
	for _, list := range lists {
		switch {
		case sameMember(list, c.Pointer) && length(c.Pointer) == 0 && bytes.HasPrefix(c.Value, []byte("[")):
			var out []Change
			jsontext.EachElement(c.Value, func(element []byte) { out = append(out, Change{Pointer: c.Pointer + end, Value: bytes.Clone(element)}) })
			return out
		case sameMember(list, parent):
			if i, err := strconv.Atoi(last); err == nil && i >= length(parent) {
				c.Pointer = parent + end
				return []Change{c}
			}
		}
	}
	return []Change{c}
}

// sameMember reports whether a declared field names exactly the member at pointer.
func sameMember(field, pointer string) bool {
	return strings.Count(field, "/") == strings.Count(pointer, "/") && jsonpointer.Covers([]string{field}, pointer)
}

// Placed replaces the final - of pointers by the index that it stands for, except in lists that an earlier change replaces.
func Placed[C change](v any, changes []C) []C {
	list := as[Change](changes)
	var out []Change
	lengths := map[string]int{}
	for i, c := range list {
		parent, ok := strings.CutSuffix(c.Pointer, end)
		if !ok || touched(list[:i], parent) {
			continue
		}
		if out == nil {
			out = append(out, list...)
		}
		if _, known := lengths[parent]; !known {
			lengths[parent] = Length(v, parent)
		}
		out[i].Pointer = parent + "/" + strconv.Itoa(lengths[parent])
		lengths[parent]++
	}
	if out == nil {
		return changes
	}
	return as[C](out)
}

// touched reports whether one of the changes replaces the list, something above it, or removes something.
func touched(changes []Change, list string) bool {
	for _, c := range changes {
		if c.Remove || strings.HasPrefix(list+"/", c.Pointer+"/") || strings.HasPrefix(c.Pointer, list+"/") && !strings.HasSuffix(c.Pointer, end) {
			return true
		}
	}
	return false
}

// Length returns the number of elements of the array at a pointer of v; 0 if v has no array there. It does not encode the elements of Go slices,
// because a conversation is large.
func Length(v any, pointer string) int {
	path, err := splitPointer(pointer)
	if err != nil {
		return 0
	}
	target := reflect.ValueOf(v).Elem()
	at, path := find(found{plan: planOf(target.Type()), value: target}, path)
	if len(path) == 0 && at.plan != nil && at.plan.shape == shapeSlice {
		return at.value.Len()
	}
	raw, err := at.json()
	if err != nil {
		return 0
	}
	return lengthAt(raw, path)
}

// LengthJSON is Length of JSON.
func LengthJSON(raw []byte, pointer string) int {
	path, err := splitPointer(pointer)
	if err != nil {
		return 0
	}
	return lengthAt(raw, path)
}

func lengthAt(raw []byte, path []string) int {
	n := 0
	list, err := rawLookup(raw, path, new(reread))
	if err == nil {
		jsontext.EachElement(list, func([]byte) { n++ })
	}
	return n
}
