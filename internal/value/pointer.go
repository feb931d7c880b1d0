package value

import (
	"errors"
	"fmt"
	"strings"
)

var errPointer = errors.New("invalid JSON pointer: must be empty or start with /")

// Covers reports whether pointer names one of the declared fields or a member below one. In a field, * matches any one member; the empty
// field covers everything.
func Covers(fields []string, pointer string) bool {
	for _, f := range fields {
		if left, ok := remainder(f, pointer); ok && left == "" {
			return true
		}
	}
	return false
}

// remainder returns the rest of a declared field below the member at pointer: empty if the field covers the member. It reports false if the
// field names neither the member nor one below it.
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

// cutSegment returns the first segment of a pointer, still escaped, and the rest of the pointer.
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
		return nil, fmt.Errorf("%w: pointer of more than %d segments", ErrBounds, MaxPointerSegments)
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
