package value

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/jsonpointer"
	"github.com/tenonhq/tenon/internal/jsontext"
)

// These are the bounds of the answer of a hook outside this process. They apply to every carrier and are checked in one
// place, CheckAnswer.
const (
	// MaxAnswerBytes bounds an answer: pointers, values and texts together. It is the limit of one message of the process and MCP
	// carriers.
	MaxAnswerBytes = 16 << 20
	// MaxAnswerChanges bounds the changes of one answer, even after Restrict has split objects into their declared members. A hook
	// that redacts every part of a long conversation needs about a thousand.
	MaxAnswerChanges = 4096
	// MaxPointerSegments and MaxPointerBytes bound the pointer of a change. The deepest declared field,
	// /messages/0/parts/0/state/metadata, has six segments; the rest is for JSON of any shape below it.
	MaxPointerSegments = 64
	MaxPointerBytes    = 4 << 10
	// MaxAnswerText bounds the reason and the message of an answer, in bytes each: five times the limit of a tool's output in the
	// conversation. The model, the terminal and the ledger receive the whole text.
	MaxAnswerText = 256 << 10
	// MaxAnswerDepth bounds the nesting of objects and arrays in a value, and in the arguments of a tool call.
	MaxAnswerDepth = 256
	// maxReread bounds the raw JSON that Apply parses again, in bytes: unknown fields and unknown parts. It is four times the
	// JSON of a very long conversation.
	maxReread = 64 << 20
)

// ErrBounds is wrapped by errors about answers that exceed one of the bounds above.
var ErrBounds = errors.New("answer too large")

// CheckAnswer returns an error that wraps ErrBounds when an answer with these changes and texts exceeds a bound. It reads the answer
// once.
func CheckAnswer[C change](answer []C, reason, message string) error {
	changes := as[Change](answer)
	size := len(reason) + len(message)
	if text := max(len(reason), len(message)); text > MaxAnswerText {
		return fmt.Errorf("%w: reason or message of %d bytes; the limit is %d", ErrBounds, text, MaxAnswerText)
	}
	if len(changes) > MaxAnswerChanges {
		return fmt.Errorf("%w: %d changes; the limit is %d", ErrBounds, len(changes), MaxAnswerChanges)
	}
	for i := range changes {
		c := &changes[i]
		if len(c.Pointer) > MaxPointerBytes {
			return fmt.Errorf("%w: pointer of %d bytes; the limit is %d", ErrBounds, len(c.Pointer), MaxPointerBytes)
		}
		if n := strings.Count(c.Pointer, "/"); n > MaxPointerSegments {
			return fmt.Errorf("%w: pointer of %d segments; the limit is %d", ErrBounds, n, MaxPointerSegments)
		}
		size += len(c.Pointer) + len(c.Value)
		if jsontext.Deeper(c.Value, MaxAnswerDepth) {
			return fmt.Errorf("%w: value at %q nested deeper than %d levels", ErrBounds, c.Pointer, MaxAnswerDepth)
		}
	}
	if size > MaxAnswerBytes {
		return fmt.Errorf("%w: %d bytes; the limit is %d", ErrBounds, size, MaxAnswerBytes)
	}
	return nil
}

// splitPointer returns the segments of a pointer. Errors wrap ErrBounds or are jsonpointer.ErrSyntax.
func splitPointer(pointer string) ([]string, error) {
	if strings.Count(pointer, "/") > MaxPointerSegments {
		return nil, fmt.Errorf("%w: pointer of more than %d segments", ErrBounds, MaxPointerSegments)
	}
	return jsonpointer.Split(pointer)
}

// reread counts the bytes of JSON that Apply parses again.
type reread int

// spend adds n bytes. It returns an error beyond maxReread.
func (r *reread) spend(n int) error {
	*r += reread(n)
	if *r > maxReread {
		return fmt.Errorf("%w: changes inside unknown fields parse more than %d MiB again; replace whole fields instead", ErrBounds, maxReread>>20)
	}
	return nil
}

// Crowded reports whether a JSON document has more than limit values: decoded, an empty object of 3 bytes takes up to 200.
func Crowded(data []byte, limit int) bool { return len(data) > limit && Count(data) > limit }

// Count returns the approximate number of values in a JSON document: the number of commas and brackets outside strings.
func Count(data []byte) (n int) {
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n
}
