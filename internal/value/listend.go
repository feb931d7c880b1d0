package value

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/jsontext"
)

// end is the last segment of a pointer to the end of an array (RFC 6901, section 4). A change there appends an element. A declared field
// /list/- permits only appending to the list.
const end = "/-"

// Appended turns changes that add elements to a list into changes at its end, if writes permits only appending to it. lengths returns the
// numbers of elements of the lists that the hook saw, see Lengths. If the hook saw no list, all elements of the new list count as added.
func Appended[C change](changes []C, writes []string, lengths func(lists []string) map[string]int) []C {
	var lists []string
	for _, w := range writes {
		if list, ok := strings.CutSuffix(w, end); ok {
			lists = append(lists, list)
		}
	}
	if len(lists) == 0 {
		return changes
	}
	isList := func(pointer string) bool {
		return slices.ContainsFunc(lists, func(list string) bool { return sameMember(list, pointer) })
	}
	of := make([]string, len(changes)) // the lists to which the changes may append
	for i, c := range as[Change](changes) {
		parent, _ := splitLast(c.Pointer)
		switch {
		case c.Remove:
		case bytes.HasPrefix(c.Value, []byte("[")) && isList(c.Pointer):
			of[i] = c.Pointer
		case isList(parent):
			of[i] = parent
		}
	}
	named := slices.DeleteFunc(slices.Sorted(slices.Values(of)), func(list string) bool { return list == "" })
	saw := lengths(slices.Compact(named))
	var out []Change
	for i, c := range as[Change](changes) {
		_, last := splitLast(c.Pointer)
		at, err := strconv.Atoi(last)
		switch {
		case of[i] == "" || of[i] == c.Pointer && saw[of[i]] > 0:
		case of[i] == c.Pointer:
			jsontext.EachElement(c.Value, func(element []byte) { out = append(out, Change{Pointer: c.Pointer + end, Value: bytes.Clone(element)}) })
			continue
		case err == nil && at >= saw[of[i]]:
			c.Pointer = of[i] + end
		}
		out = append(out, c)
	}
	return as[C](out)
}

// splitLast returns a pointer without its last segment, and that segment.
func splitLast(pointer string) (parent, last string) {
	if i := strings.LastIndexByte(pointer, '/'); i >= 0 {
		return pointer[:i], pointer[i+1:]
	}
	return "", ""
}

// sameMember reports whether a declared field names exactly the member at pointer.
func sameMember(field, pointer string) bool {
	return strings.Count(field, "/") == strings.Count(pointer, "/") && jsonpointer.Covers([]string{field}, pointer)
}

// Lengths returns the numbers of elements of the arrays at pointers of v; those of arrays that v does not have are missing. It does not encode
// the elements of Go slices.
func Lengths(v any, lists []string) map[string]int {
	out := map[string]int{}
	var rest []string
	for _, list := range lists {
		at, ok, err := locate(v, list)
		switch {
		case err != nil:
			return map[string]int{}
		case ok && at.plan == nil:
		case ok && at.plan.shape == shapeSlice:
			out[list] = at.value.Len()
		default:
			rest = append(rest, list)
		}
	}
	if len(rest) > 0 {
		raw, err := Select(v, rest)
		if err != nil {
			return map[string]int{}
		}
		maps.Copy(out, LengthsJSON(raw, rest))
	}
	return out
}

// LengthsJSON is Lengths of JSON.
func LengthsJSON(raw []byte, lists []string) map[string]int {
	out := map[string]int{}
	err := eachAt(raw, lists, func(i int, list []byte) {
		jsontext.EachElement(list, func([]byte) { out[lists[i]]++ })
	})
	if err != nil {
		return map[string]int{}
	}
	return out
}
