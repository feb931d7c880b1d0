// Package jsonpointer works with the text of JSON pointers (RFC 6901). A field is a pointer in which the segment * matches any one member;
// hooks declare with fields the data that they read and write.
package jsonpointer

import (
	"errors"
	"strconv"
	"strings"
)

// ErrSyntax is returned for a text that is not a pointer.
var ErrSyntax = errors.New("invalid JSON pointer: must be empty or start with /")

// Split returns the segments of a pointer, unescaped.
func Split(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, ErrSyntax
	}
	segments := strings.Split(pointer[1:], "/")
	for i, s := range segments {
		if strings.IndexByte(s, '~') >= 0 {
			segments[i] = unescape.Replace(s)
		}
	}
	return segments, nil
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// Find returns the member of a decoded value that the pointer names, or nil.
func Find(value any, pointer string) any {
	segments, err := Split(pointer)
	if err != nil {
		return nil
	}
	for _, name := range segments {
		object, _ := value.(map[string]any)
		list, _ := value.([]any)
		i, err := strconv.Atoi(name)
		if value = object[name]; err == nil && i >= 0 && i < len(list) {
			value = list[i]
		}
	}
	return value
}

// Append appends a slash and the escaped segment.
func Append(pointer []byte, segment string) []byte {
	pointer = append(pointer, '/')
	for i := range len(segment) {
		switch segment[i] {
		case '~':
			pointer = append(pointer, "~0"...)
		case '/':
			pointer = append(pointer, "~1"...)
		default:
			pointer = append(pointer, segment[i])
		}
	}
	return pointer
}

// Covers reports whether pointer names one of the fields or a member below one. The empty field covers everything.
func Covers(fields []string, pointer string) bool {
	for _, f := range fields {
		if left, ok := remainder(f, pointer); ok && left == "" {
			return true
		}
	}
	return false
}

// Below returns the rest of the fields that name the member at pointer or one below it, relative to it: empty for a field that covers the
// member.
func Below(fields []string, pointer string) []string {
	var out []string
	for _, f := range fields {
		if left, ok := remainder(f, pointer); ok {
			out = append(out, left)
		}
	}
	return out
}

// remainder returns the rest of a field below the member at pointer: empty if the field covers the member. It reports false if the field
// names neither the member nor one below it.
func remainder(field, pointer string) (left string, ok bool) {
	for field != "" && pointer != "" {
		var want, have string
		want, field = cut(field)
		have, pointer = cut(pointer)
		if want != "*" && want != have {
			return "", false
		}
	}
	return field, true
}

// cut returns the first segment of a pointer, still escaped, and the rest of the pointer.
func cut(pointer string) (segment, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		return pointer[:i], pointer[i:]
	}
	return pointer, ""
}
