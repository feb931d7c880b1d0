package value

import (
	"errors"
	"fmt"
	"strings"
)

var errPointer = errors.New("a JSON pointer is empty or starts with /")

// Covers reports whether pointer names one of the declared fields or something under one of them. In a
// field * stands for any one member; the empty field covers everything.
func Covers(fields []string, pointer string) bool {
	for _, f := range fields {
		if left, ok := remainder(f, pointer); ok && left == "" {
			return true
		}
	}
	return false
}

// remainder returns what is left of a declared field from the place at pointer on: empty when the field covers the place. It reports
// false when the field names neither the place nor something under it.
func remainder(field, pointer string) (left string, ok bool) {
	for field != "" && pointer != "" {
		var want, have string
		want, field = cutSegment(field)
		have, pointer = cutSegment(pointer)
		if want != "*" && want != have {
			return "", false
		}
	}
	return field, true
}

// cutSegment returns the first segment of a pointer, still escaped, and the pointer behind it.
func cutSegment(pointer string) (segment, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		return pointer[:i], pointer[i:]
	}
	return pointer, ""
}

// splitPointer returns the segments of a JSON pointer (RFC 6901), unescaped.
func splitPointer(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, errPointer
	}
	if strings.Count(pointer, "/") > MaxPointerSegments {
		return nil, fmt.Errorf("%w: a pointer of more than %d segments", ErrBounds, MaxPointerSegments)
	}
	segments := strings.Split(pointer[1:], "/")
	for i, s := range segments {
		if strings.IndexByte(s, '~') >= 0 {
			segments[i] = unescapeSegment.Replace(s)
		}
	}
	return segments, nil
}

// appendSegment appends a slash and the escaped segment.
func appendSegment(pointer []byte, segment string) []byte {
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

var unescapeSegment = strings.NewReplacer("~1", "/", "~0", "~")
