package value

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/jsontext"
)

// end is the last segment of a pointer to the element after the last of an array (RFC 6901, section 4). A change there appends. A declared
// field /list/- permits to append to the list, and nothing else.
const end = "/-"

// Appended turns changes that add elements to arrays into changes at their ends, where writes has a field that permits only that. length
// returns how many elements of an array the hook saw. If none, a new array counts as added elements.
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

// Placed returns the changes with the index in place of a final -, as far as it is known before the changes are made: not in a list that an
// earlier change of the answer replaces.
func Placed[C change](v any, changes []C) []C {
	list := as[Change](changes)
	var out []Change
	added := map[string]int{} // elements by list
	for i, c := range list {
		parent, ok := strings.CutSuffix(c.Pointer, end)
		if !ok || touched(list[:i], parent) {
			continue
		}
		if out == nil {
			out = append(out, list...)
		}
		out[i].Pointer = parent + "/" + strconv.Itoa(Length(v, parent)+added[parent])
		added[parent]++
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

// Length returns the number of elements of the array at a pointer of v, 0 without one. It looks at few elements, not at all.
func Length(v any, pointer string) int {
	has := func(i int) bool {
		found, err := Lookup(v, pointer+"/"+strconv.Itoa(i))
		return err == nil && found != nil
	}
	if !has(0) {
		return 0
	}
	low, high := 0, 1 // the first exists
	for has(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; has(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// LengthJSON is Length of JSON.
func LengthJSON(raw []byte, pointer string) int {
	path, err := splitPointer(pointer)
	if err != nil || len(raw) == 0 {
		return 0
	}
	list, err := rawLookup(raw, path, new(reread))
	n := 0
	if err == nil && bytes.HasPrefix(list, []byte("[")) {
		jsontext.EachElement(list, func([]byte) { n++ })
	}
	return n
}
